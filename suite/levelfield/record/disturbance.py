"""Which outside signals disturbed a measurement: as a record holds them, and as a reader is told.

Records of earlier versions hold the sentence alone; it becomes signals when such a record is read, and nowhere else.
"""

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

CLAUSES = {
    "steal": "the hypervisor took {}% of the CPU time",
    "others": "other processes took {}% of the CPU time",
    "idle workers": "workers that should have been idle took {}% of the CPU time",
    "pressure": "something waited for a CPU {}% of the time, with other processes about",
    "swapped pages": "{} pages were swapped",
    "throttled": "the processor was throttled {} times",
    "quota": "a CPU quota throttled processes {} times",
}
"""By outside signal (`machine.disturbance`); with a percent sign its value is a share, else a count."""
_READ = {signal: clause.replace("{}", r"([0-9]+(?:\.[0-9]+)?)") for signal, clause in CLAUSES.items()}


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By which signal the machine was not calm in a window, or disturbed a round."""

    signal: str
    """A part of a probe (`record.states`), or an outside signal (`CLAUSES`)."""
    value: float
    """Of a probe: its time over that of the low mode. Of an outside signal: a share of the CPU time, or a count."""
    limit: float | None = None
    """None: an earlier version did not record it."""


if TYPE_CHECKING:
    Disturbed: TypeAlias = tuple[Reason, ...]
    """Outside signals beyond their limits; empty: none was, so nothing disturbed what was measured."""
else:
    Disturbed = tuple[Reason, ...] | str  # what is read; what is made holds no sentence


class Watched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of types with a field `disturbed`; one that is made of an earlier version's sentence holds its signals."""

    def __post_init__(self) -> None:
        made: Any = self
        if isinstance(made.disturbed, str):
            clauses = made.disturbed.split("; ") if made.disturbed else ()
            msgspec.structs.force_setattr(self, "disturbed", tuple(map(_read, clauses)))


def _read(clause: str) -> Reason:
    for signal, pattern in _READ.items():
        if match := re.fullmatch(pattern, clause):
            return Reason(signal, float(match[1]) / (100 if "%" in CLAUSES[signal] else 1))
    raise ValueError("No version of Levelfield writes that a round was disturbed in this way")


def in_words(signal: str, *values: float) -> str:
    """Return a signal as a clause, with the range of its values: `other processes took 9.2–12.0% of the CPU time`."""
    clause = CLAUSES.get(signal, signal)
    shown = [f"{100 * value:.1f}" if "%" in clause else f"{value:.0f}" for value in sorted(values)]
    return clause.replace("{}", "–".join(dict.fromkeys((shown[0], shown[-1]))))


def sentence(reasons: Iterable[Reason]) -> str:
    """Return the clauses of all reasons, in their order; empty where there are none."""
    return "; ".join(in_words(reason.signal, reason.value) for reason in reasons)


def summarise(rounds: Iterable[Disturbed]) -> tuple[str, ...]:
    """Return a clause for each signal, with the range of its values and in how many rounds it was."""
    values: dict[str, list[float]] = {}
    for reason in itertools.chain.from_iterable(rounds):
        values.setdefault(reason.signal, []).append(reason.value)
    return tuple(
        in_words(signal, *read) + (f" ({len(read)} rounds)" if len(read) > 1 else "") for signal, read in values.items()
    )
