"""The file of a gate: TOML that people and other tools read, checked when it is read again.

It holds the costs of the runs that it was derived from, so that the limits of any number of new runs follow from it
alone. What it says about them (`limit`, `finds` …) is for the number of runs that was asked for, and must agree with
the costs. A limit that was edited by hand is refused: it would not be what noise gives any more.
"""

import math
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from levelfield import scenarios
from levelfield.compare.baselines import Pointer
from levelfield.errors import LevelfieldError, clause
from levelfield.record.schema import Arm, Case
from levelfield.safety import toml, untrusted
from levelfield.safety.conversion import convert
from levelfield.statistics import prediction
from levelfield.statistics.prediction import Earlier

FORMAT = 1
MAX_BYTES = 4 << 20
_AGREEMENT = 1e-3
"""Relative difference between a figure of the file and the same figure computed again: other releases of the numerical
libraries round differently."""

Text = Annotated[str, msgspec.Meta(max_length=1024)]
Texts = Annotated[tuple[Text, ...], msgspec.Meta(max_length=100)]
Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Positive = Annotated[float, msgspec.Meta(gt=0, lt=1e30)]
Facts = Annotated[dict[Text, Text], msgspec.Meta(max_length=1000)]


class Evidence(Pointer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run that the gate was derived from: `file`, relative to the folder of reports, and its `sha256`."""

    id: Text
    started: Text
    """ISO 8601."""


class GateCase(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits of one case and arm."""

    id: Text
    metric: Text
    unit: Text
    """Of costs: `ns`, `ns per item` or `bytes`."""
    cost: Positive
    """Geometric mean over the runs."""
    spread: Positive
    """Standard deviation of one run's log cost: 0.01 is 1 %."""
    spread_low: Positive
    """95 % interval of the spread, for normal noise."""
    spread_high: Positive
    freedom: int
    """Degrees of freedom of the spread."""
    worse_above: Positive
    """Ratio of a run's cost to `cost`; worse is that more than half of the new runs lie above it."""
    limit: Positive
    """The same as a cost."""
    finds: Positive
    """Smallest ratio that is called worse with the stated power."""
    costs: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=prediction.FEWEST, max_length=prediction.MOST)]
    """Of the runs, in the order of the evidence."""
    arm: Arm
    question: Case
    inputs: Texts = ()
    """Digests of what was computed; the new runs must have the same."""
    weights: Texts = ()
    onnx: Texts = ()
    images: Texts = ()
    target: Texts = ()

    @property
    def earlier(self) -> Earlier:
        """What the runs say about the next."""
        return prediction.from_runs(np.log(self.costs))


class Without(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case that has no limit."""

    id: Text
    reason: Text


class NoiseGate(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits that a baseline of unchanged runs gives for later ones."""

    format: int
    made: Text
    """UTC, ISO 8601."""
    version: Text
    """Of Levelfield."""
    baseline: Text
    false_alarms: Share
    """Probability that a comparison of unchanged runs calls any of the cases worse, all of them together."""
    power: Share
    """Probability with which a change of `finds` is called worse."""
    runs_each: Annotated[int, msgspec.Meta(ge=1, le=100)]
    """New runs that `worse_above`, `limit` and `finds` are for."""
    launcher: Text
    hardware: Facts
    settings: Facts
    evidence: Annotated[tuple[Evidence, ...], msgspec.Meta(min_length=prediction.FEWEST, max_length=prediction.MOST)]
    case: Annotated[tuple[GateCase, ...], msgspec.Meta(min_length=1, max_length=10_000)]
    without: Annotated[tuple[Without, ...], msgspec.Meta(max_length=10_000)] = ()
    accepted: Texts = ()
    """Differences between the runs that were accepted when the gate was derived."""

    @property
    def level(self) -> float:
        """Probability of a false alarm of one case: its share of the stated rate (Bonferroni)."""
        return self.false_alarms / len(self.case)


def figures(costs: tuple[float, ...], new: int, level: float, power: float) -> dict[str, float | int]:
    """Return what a gate says of a case whose runs cost this, for so many new runs."""
    earlier = prediction.from_runs(np.log(costs))
    low, high = earlier.spread_interval()
    cost, reach = math.exp(earlier.mean), earlier.reach(new, level)
    return {
        "cost": cost,
        "spread": earlier.spread,
        "spread_low": low,
        "spread_high": high,
        "freedom": earlier.runs - 1,
        "worse_above": ratio(reach),
        "limit": cost * ratio(reach),
        "finds": ratio(earlier.finds(new, level, power)),
    }


def ratio(log: float) -> float:
    """Return e^log, kept within what a reader can hold: three runs that lie far apart give limits of any size."""
    return math.exp(min(max(log, -60.0), 60.0))


_HEADING = (
    "Limits from the noise of runs without a change, made by `levelfield baseline derive`. Do not edit the figures:",
    "they follow from `costs`, and `levelfield compare --gate` checks that. Worse is a case of which more than half of",
    "the new runs cost more than `limit` (`cost` × `worse_above`). `false_alarms` is the probability that a comparison",
    "without a change calls any case worse. A change of `finds` is called worse with the probability `power`.",
)


def content(gate: NoiseGate) -> bytes:
    """Return the gate as TOML."""
    return toml.write(msgspec.to_builtins(gate), _HEADING).encode()


def read(path: Path) -> NoiseGate:
    """Read a gate, which may be a stranger's.

    Raises LevelfieldError: it cannot be read, is no gate, is of a newer format, or its figures do not follow from its
    costs.
    """
    try:
        table = tomllib.loads(untrusted.read_plain(path, MAX_BYTES).decode())
    except OSError as error:
        raise LevelfieldError(
            f"{path} cannot be read: {error.strerror or error}.", fix="Name a file that `baseline derive` wrote."
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise _none(path, error) from error
    if isinstance(table.get("format"), int) and table["format"] > FORMAT:
        raise LevelfieldError(
            f"{path} has format {table['format']}, and this Levelfield reads {FORMAT}.", fix="Install a newer one."
        )
    try:
        gate = convert(table, NoiseGate)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _none(path, error) from error
    _check(gate, path)
    return gate


def _none(path: Path, error: Exception) -> LevelfieldError:
    return LevelfieldError(
        f"{path} is not a gate: {clause(error)}.",
        fix="Derive it with `baseline derive`.",
    )


def _check(gate: NoiseGate, path: Path) -> None:
    ids = [case.id for case in gate.case]
    if gate.format != FORMAT or len(set(ids)) < len(ids):
        raise LevelfieldError(f"{path} is damaged.", fix="Derive it again with `baseline derive`.")
    for case in gate.case:
        same_run = len(case.costs) == len(gate.evidence) and case.id == f"{case.arm.id}/{case.question.id}"
        if not same_run or case.metric != case.question.scenario or case.unit != unit_of(case.question):
            raise LevelfieldError(
                f"{path} is damaged: {case.id} does not fit its evidence.",
                fix="Derive it again with `baseline derive`.",
            )
        expected = figures(case.costs, gate.runs_each, gate.level, gate.power)
        for name, value in expected.items():
            if not math.isclose(getattr(case, name), value, rel_tol=_AGREEMENT):
                raise LevelfieldError(
                    f"{path} was edited: {name} of {case.id} is not what its costs give.",
                    fix="Derive it again with `baseline derive`, and ask for another rate with --false-alarms.",
                )


def unit_of(case: Case) -> str:
    """Return the unit of a case's costs."""
    if scenarios.get(case.scenario).unit == "bytes":
        return "bytes"
    return "ns per item" if case.per_item else "ns"
