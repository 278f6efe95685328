"""Which tool is measured beside what: the arms of each cell, how they are launched, and what is compared.

Every tool has a bare loop beside it, around the same call, in the same version of the same framework, with the same
weights, inputs and threads. Levelfield's own worker takes turns with them, where it runs the same network.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import TypeAlias

import msgspec

from studies.form_worker import TRANSFORMERS
from studies.overhead.benchmark_app import BenchmarkApp
from studies.overhead.contestants import Contestant, Loop, Pace, Target
from studies.overhead.record import Contrast, Limit
from studies.overhead.schedule import Effort, both
from studies.peers.answers import OPTIMUM_BENCHMARK, PYPERF, in_image
from studies.peers.optimum_benchmark import FolderProcess, OptimumBenchmark, write_model
from studies.peers.pyperf import Pyperf
from studies.peers.workspace import Workspace

Launched: TypeAlias = Iterator[Mapping[str, Contestant]]
WORKER, BARE = "Levelfield's worker", "bare loop"
SERIES_PROCESSES = 5
"""Of a series of pyperf in a cell, where its default of 20 would take most of the time."""
QUICK_PROCESSES = 2


class Cell(msgspec.Struct, frozen=True):
    """One tool beside a bare loop."""

    tool: str
    backend: str
    launch: Callable[..., AbstractContextManager[Mapping[str, Contestant]]]
    """Of a target, a workspace, whether it is quick, and the order: launches the arms and ends them."""
    image: str = ""
    """Name of the tool's own image; empty: the tool comes with the framework."""
    models: tuple[str, ...] = ()
    """Those that the tool can be given here; empty: all."""
    worker: bool = True
    """Whether Levelfield's worker is among them."""
    one_process: bool = False
    """The tool is called in the process of the bare loop."""
    rounds: int = 1
    pace: Pace = Pace(2_000_000_000, min_calls=5)
    """Of the loops' windows: a tool that is started anew chooses its own."""

    def takes(self, model: str) -> bool:
        """Return whether the tool can be given a model here."""
        return not self.models or model in self.models

    def contrasts(self) -> tuple[Contrast, ...]:
        """Return what is compared: each arm with the bare loop, without a limit."""
        tool = Contrast(self.tool, BARE, Limit(), f"{self.tool} against a bare loop", one_process=self.one_process)
        ours = Contrast(WORKER, BARE, Limit(), "Levelfield's worker against a bare loop")
        return (tool, ours) if self.worker else (tool,)

    def effort(self, launches: int, *, quick: bool) -> Effort:
        """Return how much is measured."""
        if quick:
            return Effort(launches, 1, Pace(300_000_000, min_calls=2))
        return Effort(launches, self.rounds, self.pace)


@contextmanager
def _torch(target: Target, _: Workspace, order: random.Random, *, quick: bool) -> Launched:
    del quick
    with both(target, order) as (worker, process):
        yield {WORKER: worker, BARE: Loop(process, "bare"), "torch.utils.benchmark": Loop(process, "torch-timer")}


@contextmanager
def _pyperf(target: Target, workspace: Workspace, order: random.Random, *, quick: bool) -> Launched:
    tool = Pyperf(in_image(target, PYPERF), workspace, series_processes(quick=quick))
    with both(target, order) as (worker, process):
        yield {WORKER: worker, BARE: Loop(process, "bare"), "pyperf": tool}


def series_processes(*, quick: bool) -> int:
    """Return how many processes a series of pyperf has in a cell."""
    return QUICK_PROCESSES if quick else SERIES_PROCESSES


@contextmanager
def _benchmark_app(target: Target, _: Workspace, order: random.Random, *, quick: bool) -> Launched:
    del quick
    with both(target, order) as (worker, process), closing(BenchmarkApp(target)) as tool:
        yield {WORKER: worker, BARE: Loop(process, "bare"), "benchmark_app": tool}


@contextmanager
def _optimum_benchmark(target: Target, workspace: Workspace, _: random.Random, *, quick: bool) -> Launched:
    there = in_image(target, OPTIMUM_BENCHMARK)
    write_model(workspace, target.case.model)
    tool = OptimumBenchmark(there, workspace, quick=quick)
    with closing(FolderProcess(there, workspace)) as process:
        yield {BARE: Loop(process, "bare", TRANSFORMERS), "optimum-benchmark": tool}


CELLS = (
    Cell("torch.utils.benchmark", "torch", _torch, one_process=True, rounds=3, pace=Pace(1_000_000_000, min_calls=5)),
    Cell("pyperf", "onnxruntime", _pyperf, PYPERF),
    Cell("benchmark_app", "openvino", _benchmark_app),
    Cell("optimum-benchmark", "torch", _optimum_benchmark, OPTIMUM_BENCHMARK, ("bert",), worker=False),
)


def launcher(
    cell: Cell, target: Target, workspace: Workspace, *, quick: bool
) -> Callable[[random.Random], AbstractContextManager[Mapping[str, Contestant]]]:
    """Return what launches the arms of a cell, given the order."""
    return partial(cell.launch, target, workspace, quick=quick)
