"""The schedule of one cell: generations of fresh launches, in each of them rounds in which every arm takes a window."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager

import msgspec

from levelfield.machine.disturbance import reasons
from levelfield.machine.quiet import wait_until_idle
from levelfield.machine.signals import Signals, difference
from levelfield.record.disturbance import sentence
from studies.harness.contestants import BareProcess, Contestant, Harness, Loop, Pace, Target
from studies.harness.findings import Cell, Contrast, Generation, Round, Window, find

TURN_REWARM_NS = 10_000_000
"""Of unrecorded calls before each short turn (one call at the least): no other process ran in between, but the harness
collects garbage before it warms up."""
QUIET_S = 0.5
QUIET_MOST_S = 20.0
"""A launch waits until nothing else has run for so long, or for the second time at the most: what a framework's
compiler leaves running is no part of a call."""


class Effort(msgspec.Struct, frozen=True):
    """How much is measured."""

    launches: int
    """Generations."""
    rounds: int
    pace: Pace
    turns: int = 0
    """Short windows of each of two loops in one process, in every launch; they come before the rounds."""
    turn: Pace = Pace(0, 1)


@contextmanager
def both(target: Target, order: random.Random) -> Iterator[tuple[Harness, BareProcess]]:
    """Launch worker and bare process side by side, in random order: the first may find the memory in another state."""
    with ThreadPoolExecutor(2) as pool:
        if order.random() < 0.5:
            worker, process = pool.submit(Harness, target), pool.submit(BareProcess, target)
        else:
            process, worker = pool.submit(BareProcess, target), pool.submit(Harness, target)
    with ExitStack() as stack:
        for future in (worker, process):
            if future.exception() is None:
                stack.callback(future.result().close)
        yield worker.result(), process.result()


def measure(
    cell: Cell,
    contrasts: Sequence[Contrast],
    cpus: Sequence[int],
    effort: Effort,
    launch: Callable[[random.Random], AbstractContextManager[Mapping[str, Contestant]]],
    *,
    seed: int,
    say: Callable[[str], None],
) -> Cell:
    """Measure a cell, generation after generation; those that it has already are kept."""
    began = time.monotonic() - cell.seconds
    with Signals(cpus) as signals:
        for number in range(effort.launches):
            place = len(cell.generations)
            order = random.Random(f"{seed}/{cell.backend}/{cell.case.id}/{place}")  # noqa: S311 (a schedule)
            with launch(order) as arms:
                generations = (*cell.generations, generation(arms, effort, order, signals))
                notes = next((each.notes for each in arms.values() if each.starts_anew), cell.notes)
            cell = msgspec.structs.replace(
                cell,
                generations=generations,
                findings=tuple(find(each, generations, cell.arms) for each in contrasts),
                notes=notes,
                seconds=time.monotonic() - began,
            )
            found = [(each.contrast, each.ratio.value) for each in cell.findings]
            ratios = (f"{contrast.first} / {contrast.second} {ratio:.4f}" for contrast, ratio in found)
            say(f"launch {number + 1} of {effort.launches}: {', '.join(ratios)}")
    return cell


def generation(arms: Mapping[str, Contestant], effort: Effort, order: random.Random, signals: Signals) -> Generation:
    """Wait until compilers have finished, warm every contestant up, and let all of them take turns."""
    await_quiet(arms, signals)
    for contestant in arms.values():
        if not contestant.starts_anew:
            contestant.window(effort.pace)
    turns = _turns(arms, effort, order, signals) if effort.turns else ()
    # Where the worker's loop has its turns beside the bare one, a round is of the two processes alone.
    between = {name: each for name, each in arms.items() if not turns or getattr(each, "loop", "") != "take"}
    return Generation((*turns, *(_round(between, effort.pace, order, signals) for _ in range(effort.rounds))))


def await_quiet(
    arms: Mapping[str, Contestant], signals: Signals, *, quiet_s: float = QUIET_S, most_s: float = QUIET_MOST_S
) -> bool:
    """Wait until a moment passes in which nothing disturbs the machine."""
    pids = _pids(arms)
    end = time.monotonic() + most_s
    before = signals.snapshot(pids)
    while time.monotonic() < end:
        time.sleep(quiet_s)
        after = signals.snapshot(pids)
        if not reasons([difference(before, after, None)], len(signals.cpus)):
            return True
        before = after
    return False


def _pids(arms: Mapping[str, Contestant]) -> dict[str, int]:
    return {each.process: each.pid for each in arms.values() if each.pid is not None}


def _turns(arms: Mapping[str, Contestant], effort: Effort, order: random.Random, signals: Signals) -> tuple[Round, ...]:
    """Let the loops of the bare process take turns; every turn is a round."""
    names = {each.loop: name for name, each in arms.items() if isinstance(each, Loop)}
    process = next(each.inside for each in arms.values() if isinstance(each, Loop))
    pids = {name: pid for name, pid in _pids(arms).items() if pid}
    turns = turn_order(sorted(names), effort.turns, order)
    before = signals.snapshot(pids)
    readings = process.windows(turns, effort.turn, TURN_REWARM_NS)
    why = sentence(reasons([difference(before, signals.snapshot(pids), process.process)], len(signals.cpus)))
    windows = [Window(names[loop], *taken) for loop, taken in zip(turns, readings, strict=True)]
    return tuple(Round(both, disturbed=why) for both in zip(windows[::2], windows[1::2], strict=True))


def turn_order(loops: Sequence[str], turns: int, order: random.Random) -> list[str]:
    """Return the loops of successive windows: each loop once in every turn, in random order."""
    return [loop for _ in range(turns) for loop in order.sample(loops, len(loops))]


def _round(arms: Mapping[str, Contestant], pace: Pace, order: random.Random, signals: Signals) -> Round:
    names = sorted(arms)
    order.shuffle(names)
    pids = _pids(arms)
    known = all(each.pid is not None for each in arms.values())
    windows: list[Window] = []
    noises = []
    for name in names:
        if known:
            wait_until_idle(pids)
        before = signals.snapshot(pids)
        reading = arms[name].window(pace)
        noises.append(difference(before, signals.snapshot(pids), arms[name].process))
        windows.append(Window(name, *reading))
    return Round(tuple(windows), disturbed=sentence(reasons(noises, len(signals.cpus))) if known else "")
