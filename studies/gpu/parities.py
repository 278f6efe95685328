"""How far every arm of some runs was from the reference, case by case: the errors of their records, side by side."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from suite.backends.registry import CANARY
from suite.errors import LevelfieldError
from suite.record import files
from suite.record.schema import Absent


class Answer(msgspec.Struct, frozen=True):
    """The largest errors of an arm in a case, over its launches."""

    case: str
    arm: str
    launches: int
    equal: bool
    relative_error: float | None
    """‖out − ref‖₂ / ‖ref‖₂, or that of the training's losses, gradients and weights; None: not comparable."""
    centred_error: float | None
    tolerance: float
    reason: str
    framework: str
    """Its version."""


class Parities(msgspec.Struct, frozen=True):
    """Of some runs on one machine."""

    gpu: str
    driver: str
    runs: tuple[str, ...]
    """Their ids."""
    answers: tuple[Answer, ...]


def collect(runs: Sequence[Path]) -> Parities:
    """Read the records of some runs."""
    read = [files.read(path) for path in runs]
    machines = {(str(run.machine["gpu"].get("device 0 name")), str(run.machine["gpu"].get("driver"))) for run in read}
    if len(machines) != 1:
        raise LevelfieldError("These runs are of different GPUs or drivers.", fix="Name runs of one machine.")
    found: dict[tuple[str, str], Answer] = {}
    for run in read:
        for block in run.blocks:
            for generation in block.generations:
                for launch in generation.launches:
                    if launch.arm == CANARY or launch.parity is None:
                        continue
                    key = block.case.id, launch.arm
                    one = Answer(
                        case=block.case.id,
                        arm=launch.arm,
                        launches=1,
                        equal=launch.parity.equal,
                        relative_error=_known(launch.parity.relative_error),
                        centred_error=_known(launch.parity.centred_error),
                        tolerance=launch.parity.tolerance,
                        reason=launch.parity.reason,
                        framework=launch.framework_version,
                    )
                    found[key] = _worse(found[key], one) if key in found else one
    ((name, driver),) = machines
    return Parities(name, driver, tuple(run.id for run in read), tuple(found[key] for key in sorted(found)))


def _worse(first: Answer, second: Answer) -> Answer:
    """Return one answer for both, with the larger error."""
    errors = (first.relative_error or 0.0, second.relative_error or 0.0)
    worse = second if (not second.equal and first.equal) or errors[1] > errors[0] else first
    return msgspec.structs.replace(worse, launches=first.launches + second.launches)


def _known(error: float | Absent) -> float | None:
    return None if isinstance(error, Absent) else error
