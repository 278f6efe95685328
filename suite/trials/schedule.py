"""The schedule of one cell: generations of fresh launches, in each of them rounds in which every arm takes a window."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

import docker
import msgspec

from suite.machine.disturbance import disturbed
from suite.machine.signals import Signals, difference
from suite.records.schema import Arm, Case, Noise
from suite.rounds import REWARM_NS
from suite.site import Site
from suite.trials.benchmark_app import BenchmarkApp
from suite.trials.contestants import BareProcess, Contestant, Harness, Loop, Pace
from suite.trials.judging import find, precise
from suite.trials.record import Cell, Contrast, Finding, Generation, Round, Window

AGREE = 2
"""The intervals must be short at so many boundaries in a row before the trial of a cell ends early."""


class Effort(msgspec.Struct, frozen=True):
    """How much is measured."""

    launches: int
    """Generations at the least."""
    most: int
    """Generations at the most; between the two the width of the intervals decides."""
    rounds: int
    pace: Pace


Opened = AbstractContextManager[Mapping[str, Contestant]]


@contextmanager
def loops(
    client: docker.DockerClient, site: Site, case: Case, arm: Arm, order: random.Random
) -> Iterator[Mapping[str, Contestant]]:
    """Bring up Levelfield's worker and a bare loop; the latter's process also runs the worker's loop."""
    with ExitStack() as stack:
        worker, process = _both(stack, client, site, case, arm, order)
        yield {"worker": worker, "bare loop": Loop(process, "bare"), "worker's loop": Loop(process, "take")}


@contextmanager
def apps(
    client: docker.DockerClient, site: Site, case: Case, arm: Arm, order: random.Random
) -> Iterator[Mapping[str, Contestant]]:
    """Bring up Levelfield's OpenVINO worker, the same step asked for OpenVINO's own clock, and `benchmark_app`."""
    with ExitStack() as stack:
        app = BenchmarkApp(client, site, case, arm)
        stack.callback(app.close)
        worker, process = _both(stack, client, site, case, arm, order)
        yield {"worker": worker, "OpenVINO's clock": Loop(process, "own-clock"), "benchmark_app": app}


def _both(
    stack: ExitStack, client: docker.DockerClient, site: Site, case: Case, arm: Arm, order: random.Random
) -> tuple[Harness, BareProcess]:
    """Launch the two in random order: who comes first may find the memory in another state."""

    def worker() -> Harness:
        made = Harness(site, case, arm)
        stack.callback(made.close)
        return made

    def process() -> BareProcess:
        made = BareProcess(client, site, case, arm)
        stack.callback(made.close)
        return made

    if order.random() < 0.5:
        first = worker()
        return first, process()
    second = process()
    return worker(), second


def measure(
    cell: Cell,
    contrasts: Sequence[Contrast],
    launch: Callable[[random.Random], Opened],
    effort: Effort,
    *,
    cpus: Sequence[int],
    seed: int,
    say: Callable[[str], None],
) -> Cell:
    """Measure a cell until its contrasts are known well enough, or the effort is spent."""
    generations: list[Generation] = []
    findings: list[Finding] = []
    agreed = 0
    sequential = effort.most > effort.launches
    with Signals(cpus) as signals:
        while len(generations) < effort.most:
            order = random.Random(f"{seed}/{cell.backend}/{cell.case.id}/{len(generations)}")  # noqa: S311 (a schedule)
            with launch(order) as arms:
                generations.append(generation(arms, effort, order, signals))
                notes = next((each.notes for each in arms.values() if isinstance(each, BenchmarkApp)), cell.notes)
            names = cell.arms
            findings = [find(contrast, generations, names, sequential=sequential) for contrast in contrasts]
            say(f"launch {len(generations)} of {effort.launches} to {effort.most}: {_summary(findings)}")
            agreed = agreed + 1 if precise(findings) else 0
            if len(generations) >= effort.launches and agreed >= AGREE:
                break
    return msgspec.structs.replace(cell, generations=tuple(generations), findings=tuple(findings), notes=notes)


def generation(arms: Mapping[str, Contestant], effort: Effort, order: random.Random, signals: Signals) -> Generation:
    """Warm every contestant up, and let all of them take turns."""
    for contestant in arms.values():
        if not isinstance(contestant, BenchmarkApp):  # it starts anew for every window, so it cannot be warmed up
            contestant.window(effort.pace)
    return Generation(tuple(_round(arms, effort.pace, order, signals) for _ in range(effort.rounds)))


def _round(arms: Mapping[str, Contestant], pace: Pace, order: random.Random, signals: Signals) -> Round:
    names = sorted(arms)
    order.shuffle(names)
    pids = {each.process: each.pid for each in arms.values() if each.pid is not None}
    known = all(each.pid is not None for each in arms.values())
    windows: list[Window] = []
    noises: list[Noise] = []
    for name in names:
        before = signals.snapshot(pids)
        reading = arms[name].window(pace)
        noises.append(difference(before, signals.snapshot(pids), arms[name].process))
        windows.append(Window(arm=name, median_ns=reading.median_ns, calls=reading.calls))
    return Round(tuple(windows), disturbed=disturbed(noises, len(signals.cpus), settling_ns=REWARM_NS) if known else "")


def _summary(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{each.contrast.first} / {each.contrast.second} {each.ratio.value:.4f}" for each in findings)
