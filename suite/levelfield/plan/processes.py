"""Division of a training among processes: their numbers, the models, and the CPUs."""

from collections.abc import Mapping, Sequence

from levelfield.errors import LevelfieldError
from levelfield.names import plural
from levelfield.plan import cpu_pinning
from levelfield.plan.cpu_pinning import Pool
from levelfield.plan.names import rising
from levelfield.plan.types import Selection
from levelfield.record import warnings as notices
from levelfield.record.schema import Warning_
from levelfield.scenarios import get
from levelfield.zoo import models

ONE_PROCESS = (1,)


def counts(selection: Selection, scenarios: Sequence[str], device: str) -> tuple[int, ...]:
    """Return the numbers of processes to train in, in rising order; LevelfieldError: they cannot be."""
    counts = selection.processes
    if not counts or counts == ONE_PROCESS:
        return ONE_PROCESS
    for number in counts:
        if number < 1:
            raise LevelfieldError(
                f"{number} processes cannot train anything.", fix="Choose at least 1 with --processes."
            )
    found = rising("--processes", counts)
    if not all(get(name).trains for name in scenarios):
        raise LevelfieldError(
            "Only training is divided among processes, and other scenarios are asked for too.",
            fix="Add --scenarios training.",
        )
    if device != "cpu":
        raise LevelfieldError(
            "Of several processes each would need a GPU of its own, and a run uses one GPU.",
            fix="Add --variant cpu, or leave --processes out.",
        )
    return found


def threads(selection: Selection, numbers: Sequence[int], pool: Pool) -> tuple[int, ...]:
    """Return the numbers of threads of every process.

    `selection`: numbers that the user named. None: the cores are divided among the most processes, and fewer processes
    have no more threads each, so that equal processes are compared, fewer and more of them. Raises LevelfieldError:
    there are not so many CPUs, or a number is refused by `plan.cpu_pinning.counts`.
    """
    most = max(numbers)
    there = len(pool.cpus)
    if most > there:
        raise pool.too_small(
            f"{most} processes were asked for", most, choose=f"--processes {there}", why="each needs a CPU of its own"
        )
    found = cpu_pinning.counts(selection.threads, pool)
    if not selection.threads:
        return (max(1, found[0] // most),)
    needed = max(found) * most
    if needed > there:
        raise pool.too_small(
            f"{most} processes with {plural(max(found), 'thread')} each need {needed} CPUs",
            needed,
            choose=f"--threads {there // most}",
            why="they are those of every process",
        )
    return found


def divisible(
    selection: Selection, sizes: Mapping[str, tuple[int, ...]], numbers: Sequence[int]
) -> tuple[dict[str, tuple[int, ...]], tuple[Warning_, ...]]:
    """Return the models whose training can be divided among processes; LevelfieldError: none, or not all named."""
    if numbers == ONE_PROCESS:
        return dict(sizes), ()
    kept: dict[str, tuple[int, ...]] = {}
    left: list[Warning_] = []
    for model, batches in sizes.items():
        why = _why_not(model, numbers)
        if not why:
            kept[model] = tuple(_require_divisible(model, batch, numbers) for batch in batches)
        elif model in selection.models:
            raise LevelfieldError(why, fix="Leave --processes out, or ask for other models.")
        else:
            left.append(notices.not_divided(model, why))
    if not kept:
        raise LevelfieldError(" ".join(each.message for each in left), fix="Leave --processes out.")
    return kept, tuple(left)


def _why_not(model: str, numbers: Sequence[int]) -> str:
    if models.get(model).statistics:
        return (
            f"{model} is not trained in several processes: its BatchNorm would normalise every process's share by "
            "itself, which is another computation than the reference's."
        )
    batch = models.recipe(model).trajectory_batch
    odd = [number for number in numbers if batch % number]
    if odd:
        return (
            f"{model} is not trained in {odd[0]} processes: the reference's batches of {batch}, which must be followed "
            "first, cannot be divided equally among them."
        )
    return ""


def _require_divisible(model: str, batch: int, numbers: Sequence[int]) -> int:
    for number in numbers:
        if batch % number:
            raise LevelfieldError(
                f"A batch of {batch} of {model} cannot be divided equally among {number} processes.",
                fix=f"Choose multiples of {number} with --batch.",
            )
    return batch
