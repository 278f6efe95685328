"""Synthetic journals of upgrades: a sequence of boots as events."""

from collections.abc import Iterable, Sequence

import msgspec

from levelfield.paths import tool_sha256
from levelfield.plan import Selection
from levelfield.run.upgrade.progress import (
    FORMAT,
    Begun,
    Event,
    How,
    MeasurementBegun,
    MeasurementDone,
    Planned,
    Side,
    State,
    fold,
)
from levelfield.version import __version__

OLD, NEW, THIRD = {"kernel, release": "6.1"}, {"kernel, release": "6.12"}, {"kernel, release": "6.18"}
MACHINE = {"cpu model": "a CPU"}
IDENTITIES: dict[Side, dict[str, str]] = {"old": OLD, "new": NEW}


def begun(**changes: object) -> Begun:
    """An upgrade of two boots a phase, unless told otherwise."""
    return msgspec.structs.replace(
        Begun(
            format=FORMAT, name="up", at=at(0), tool_version=__version__, tool_sha256=tool_sha256(),
            selections=(Selection(),), plans=(Planned(("onnxruntime/mlp/latency/fp32/b1/t2/cpu",), (0, 1)),),
            how=How(), boots=2, one_way=False, salt="salt", identity=OLD, hardware=MACHINE,
        ),
        **changes,
    )  # fmt: skip


def declared() -> Begun:
    """Image sets stand for the sides."""
    selections = tuple(Selection(backends=(name,)) for name in ("onnxruntime@1.29.0", "onnxruntime@1.30.0"))
    return begun(selections=selections, plans=begun().plans * 2)


def at(minute: int) -> str:
    return f"2026-03-01T{minute // 60:02}:{minute % 60:02}:00Z"


def run_id(number: int) -> str:
    return f"20260301-{number:06}-run"


def measuring(number: int, side: Side, *, boot: str = "") -> MeasurementBegun:
    return MeasurementBegun(at(10 * number), boot or f"boot-{number}", run_id(number), side, IDENTITIES[side], {})


def measured(number: int) -> MeasurementDone:
    return MeasurementDone(at(10 * number + 5), run_id(number), f"{number:064}")


def events(sides: str, declaration: Begun | None = None, cut: Iterable[int] = ()) -> list[Event]:
    """One run in each boot: `oonn` is two boots of the old and two of the new side; those in `cut` were cut off."""
    found: list[Event] = [declaration or begun()]
    for number, letter in enumerate(sides, start=1):
        found.append(measuring(number, "old" if letter == "o" else "new"))
        found += [] if number in set(cut) else [measured(number)]
    return found


def state(sides: str, declaration: Begun | None = None, cut: Sequence[int] = ()) -> State:
    return fold(events(sides, declaration, cut))
