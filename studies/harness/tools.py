"""What is compared with a bare loop: each tool, on what it computes, how it is launched, and its limits."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TypeAlias

import msgspec

from studies.harness.benchmark_app import BenchmarkApp
from studies.harness.contestants import Contestant, Loop, Pace, Target
from studies.harness.form_worker import TRANSFORMERS
from studies.harness.other_tools import FolderProcess, OptimumBenchmark, Pyperf, write_model
from studies.harness.record import Contrast, Limit
from studies.harness.schedule import Effort, both
from studies.harness.workspace import OPTIMUM_BENCHMARK, PYPERF, Workspace, in_image

Launched: TypeAlias = Iterator[Mapping[str, Contestant]]
WORKER, BARE, INSIDE, OWN_CLOCK = "worker", "bare loop", "worker's loop", "OpenVINO's clock"
TURNS = {"mlp": (16, Pace(40_000_000, 5)), "resnet50": (20, Pace(60_000_000, 2)), "bert": (12, Pace(250_000_000, 2))}
"""Turns of the two loops of one process in each launch, and their windows: about as long for each model."""
SERIES_PROCESSES, QUICK_PROCESSES = 5, 2
"""Of pyperf, in each launch: it would take twenty."""


class Tool(msgspec.Struct, frozen=True):
    """One row of the study."""

    name: str
    launch: Callable[..., AbstractContextManager[Mapping[str, Contestant]]]
    contrasts: Callable[[str], tuple[Contrast, ...]]
    """Of a model."""
    backend: str = ""
    """What it computes with; empty: all backends in turn."""
    image: str = ""
    """Where it is installed; empty: in the image of the backend."""
    models: tuple[str, ...] = ()
    """Those that it can be given; empty: all."""
    rounds: int = 1
    pace: Pace = Pace(2_000_000_000, min_calls=5)

    def effort(self, launches: int, model: str, *, quick: bool) -> Effort:
        turns, turn = TURNS.get(model, TURNS["bert"]) if self.name == BARE else (0, Pace(0, 1))
        if quick:
            return Effort(launches, 1, Pace(300_000_000, min_calls=2), turns=min(turns, 3), turn=turn)
        return Effort(launches, self.rounds, self.pace, turns=turns, turn=turn)


def _of_worker(model: str) -> tuple[Contrast, ...]:
    limit = Limit(ns=2000.0) if model == "mlp" else Limit(share=0.01)
    return (
        Contrast(WORKER, BARE, limit, "between two processes: worker against bare loop"),
        Contrast(INSIDE, BARE, limit, "in one process: the worker's loop against the bare one", one_process=True),
    )


def _of_benchmark_app(model: str) -> tuple[Contrast, ...]:
    limits = (Limit(), Limit(ns=2000.0)) if model == "mlp" else (Limit(share=0.02), Limit(share=0.02))
    return (
        Contrast("benchmark_app", BARE, Limit(), "benchmark_app against a bare loop"),
        Contrast(WORKER, "benchmark_app", limits[0], "from NumPy to NumPy against OpenVINO's own clock"),
        Contrast(OWN_CLOCK, "benchmark_app", limits[1], "the same step by the same clock"),
    )


def _of_tool(name: str, *, worker: bool = True, one_process: bool = False) -> Callable[[str], tuple[Contrast, ...]]:
    tool = Contrast(name, BARE, Limit(), f"{name} against a bare loop", one_process=one_process)
    ours = Contrast(WORKER, BARE, Limit(), "Levelfield's worker against a bare loop")
    return lambda _: (tool, ours) if worker else (tool,)


@contextmanager
def _bare(target: Target, _: Workspace, order: random.Random, *, quick: bool) -> Launched:
    del quick
    with both(target, order) as (worker, process):
        yield {WORKER: worker, BARE: Loop(process, "bare"), INSIDE: Loop(process, "take")}


@contextmanager
def _torch(target: Target, _: Workspace, order: random.Random, *, quick: bool) -> Launched:
    del quick
    with both(target, order) as (worker, process):
        yield {WORKER: worker, BARE: Loop(process, "bare"), "torch.utils.benchmark": Loop(process, "torch-timer")}


@contextmanager
def _benchmark_app(target: Target, _: Workspace, order: random.Random, *, quick: bool) -> Launched:
    del quick
    with both(target, order) as (worker, process), closing(BenchmarkApp(target)) as tool:
        loops = {BARE: Loop(process, "bare"), OWN_CLOCK: Loop(process, "own-clock")}
        yield {WORKER: worker, **loops, "benchmark_app": tool}


@contextmanager
def _pyperf(target: Target, workspace: Workspace, order: random.Random, *, quick: bool) -> Launched:
    processes = QUICK_PROCESSES if quick else SERIES_PROCESSES
    tool = Pyperf(in_image(target, PYPERF), workspace, processes)
    with both(target, order) as (worker, process):
        yield {WORKER: worker, BARE: Loop(process, "bare"), "pyperf": tool}


@contextmanager
def _optimum_benchmark(target: Target, workspace: Workspace, _: random.Random, *, quick: bool) -> Launched:
    there = in_image(target, OPTIMUM_BENCHMARK)
    write_model(workspace, target.case.model)
    tool = OptimumBenchmark(there, workspace, quick=quick)
    with closing(FolderProcess(there, workspace)) as process:
        yield {BARE: Loop(process, "bare", TRANSFORMERS), "optimum-benchmark": tool}


TOOLS = (
    Tool(BARE, _bare, _of_worker, rounds=2, pace=Pace(250_000_000, min_calls=3)),
    Tool("benchmark_app", _benchmark_app, _of_benchmark_app, "openvino"),
    Tool(
        "torch.utils.benchmark",
        _torch,
        _of_tool("torch.utils.benchmark", one_process=True),
        "torch",
        rounds=3,
        pace=Pace(1_000_000_000, min_calls=5),
    ),
    Tool("pyperf", _pyperf, _of_tool("pyperf"), "onnxruntime", PYPERF),
    Tool(
        "optimum-benchmark",
        _optimum_benchmark,
        _of_tool("optimum-benchmark", worker=False),
        "torch",
        OPTIMUM_BENCHMARK,
        ("bert",),
    ),
)
