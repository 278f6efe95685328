"""What a harness adds to a call: Levelfield's worker and four other tools beside bare loops around the same call."""

import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.images.build import build
from levelfield.launchers.docker import connect
from levelfield.names import unknown
from levelfield.options.values import NAMES
from levelfield.plan import cpu_pinning
from levelfield.record.schema import Block
from levelfield.schedule.outcomes import utc_now
from levelfield.schedule.resources import RunResources
from studies import commands
from studies.harness.contestants import Contestant, Loop, Pace, Target
from studies.harness.findings import Cell, Contrast, Finding, Limit, Trial, markdown, pooled
from studies.harness.other_tools import (
    OPTIMUM_BENCHMARK,
    PYPERF,
    BenchmarkApp,
    FolderProcess,
    OptimumBenchmark,
    Pyperf,
    Workspace,
    in_image,
    workspace,
    write_model,
)
from studies.harness.schedule import Effort, both, measure

WORKER, BARE, INSIDE, OWN_CLOCK = "worker", "bare loop", "worker's loop", "OpenVINO's clock"
TURNS = {"mlp": (16, Pace(40_000_000, 5)), "resnet50": (20, Pace(60_000_000, 2)), "bert": (12, Pace(250_000_000, 2))}
"""Turns of the two loops of one process in each launch, and their windows: about as long for each model."""
SERIES_PROCESSES, QUICK_PROCESSES = 5, 2
"""Of pyperf, in each launch: it would take twenty."""


class Tool(msgspec.Struct, frozen=True):
    """One row of the study."""

    name: str
    contrasts: Callable[[str], tuple[Contrast, ...]]
    """Of a model."""
    backend: str = ""
    """What it computes with; empty: all backends in turn."""
    image: str = ""
    """Where it is installed; empty: in the image of the backend."""
    models: tuple[str, ...] = ()
    """Those that it can be given; empty: all."""
    loops: dict[str, str] = {}
    """Arms that are loops of the bare process too, and these loops."""
    program: Callable[[Target, Workspace, bool], Contestant] | None = None
    """Of a target, folders, and whether it is to be quick; None: the tool is a loop."""
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
def launched(
    tool: Tool, target: Target, place: Workspace, order: random.Random, *, quick: bool
) -> Iterator[Mapping[str, Contestant]]:
    """Launch a tool, and what it is compared with."""
    there = in_image(target, tool.image) if tool.image else target
    if tool.image == OPTIMUM_BENCHMARK:
        write_model(place, target.case.model)
    tools = {tool.name: tool.program(there, place, quick)} if tool.program else {}
    if tool.image == OPTIMUM_BENCHMARK:
        with closing(FolderProcess(there, place)) as process:
            yield {BARE: Loop(process, "bare"), **tools}
    else:
        with both(target, order) as (worker, process):
            loops = {name: Loop(process, loop) for name, loop in {BARE: "bare", **tool.loops}.items()}
            yield {WORKER: worker, **loops, **tools}


TOOLS = (
    Tool(BARE, _of_worker, loops={INSIDE: "take"}, rounds=2, pace=Pace(250_000_000, min_calls=3)),
    Tool(
        "benchmark_app",
        _of_benchmark_app,
        "openvino",
        loops={OWN_CLOCK: "own-clock"},
        program=lambda target, place, _: BenchmarkApp(target, place),
    ),
    Tool(
        "torch.utils.benchmark",
        _of_tool("torch.utils.benchmark", one_process=True),
        "torch",
        loops={"torch.utils.benchmark": "torch-timer"},
        rounds=3,
        pace=Pace(1_000_000_000, min_calls=5),
    ),
    Tool(
        "pyperf",
        _of_tool("pyperf"),
        "onnxruntime",
        PYPERF,
        program=lambda target, place, quick: Pyperf(target, place, QUICK_PROCESSES if quick else SERIES_PROCESSES),
    ),
    Tool(
        "optimum-benchmark",
        _of_tool("optimum-benchmark", worker=False),
        "torch",
        OPTIMUM_BENCHMARK,
        ("bert",),
        program=lambda target, place, quick: OptimumBenchmark(target, place, quick=quick),
    ),
)


WITHIN, OUTSIDE, INCONCLUSIVE = 0, 1, 3
"""Exit codes."""
VERSIONS = {
    "torch": ("torch",),
    "openvino": ("openvino",),
    "peer-pyperf": ("pyperf",),
    "peer-optimum-benchmark": ("optimum-benchmark", "transformers"),
}


class Request(msgspec.Struct, frozen=True):
    """What is measured, and how long."""

    tools: tuple[str, ...]
    models: tuple[str, ...]
    backends: tuple[str, ...]
    launches: int
    threads: int | None
    seed: int
    quick: bool


def chosen(request: Request) -> list[tuple[Tool, str]]:
    """Return every tool with each of its backends; raises LevelfieldError where one is unknown or takes no model."""
    known = {each.name: each for each in TOOLS}
    for name in request.tools:
        if name not in known:
            raise unknown("tool", name, known)
        if known[name].models and not set(known[name].models) & set(request.models):
            raise LevelfieldError(f"{name} measures {', '.join(known[name].models)} alone.", fix="Add it to --models.")
    tools = [each for each in TOOLS if not request.tools or each.name in request.tools]
    everything = request.backends or registry.names()
    return [(tool, backend) for tool in tools for backend in ((tool.backend,) if tool.backend else everything)]


def run(keep: commands.Keep[Trial], listener: commands.Terminal, *, request: Request) -> Trial:
    """Measure every cell; the record is written after each."""
    todo = chosen(request)
    backends = tuple(dict.fromkeys(backend for _, backend in todo))
    selected = commands.selection(request.models, backends, request.threads)
    with commands.prepared(selected, listener) as (plan, resources), workspace() as place:
        images = [build(name, progress=listener.say) for name in dict.fromkeys(tool.image for tool, _ in todo) if name]
        versions = {name: catalogue.lock(image).versions[name] for image, names in VERSIONS.items() for name in names}
        settings = {"launches": request.launches, "quick": int(request.quick)}
        now, load = utc_now(), os.getloadavg()
        facts = commands.site_facts(resources)
        facts |= {"images": (*facts["images"], *images), "started": now, "finished": now, "seed": request.seed}
        facts |= {"load_before": load, "load_after": load, "settings": settings, "versions": versions}
        trial = Trial(schema=Trial.SCHEMA, **facts)
        for tool, backend in todo:
            for block in plan.blocks:
                if not tool.models or block.case.model in tool.models:
                    cell = _cell(resources, block, tool, backend, place, request, listener.say)
                    cells = (*trial.cells, cell)
                    trial = trial.updated(cells=cells, pooled=pool(cells))
                    keep(trial)
    return trial


def _cell(
    resources: RunResources,
    block: Block,
    tool: Tool,
    backend: str,
    place: Workspace,
    request: Request,
    say: Callable[[str], None],
) -> Cell:
    case = block.case
    contrasts = tool.contrasts(case.model)
    names = tuple(dict.fromkeys(name for each in contrasts for name in (each.first, each.second)))
    cell = Cell(backend=backend, case=case, arms=names, generations=(), findings=())
    title = f"{tool.name}, {case.model}, {backend}"
    arm = next(arm for arm in block.arms if arm.backend == backend)
    target = Target(
        connect(), resources, case, arm, cpu_pinning.pinned(case.threads, resources.cpus, resources.topology)
    )
    try:
        return measure(
            cell,
            contrasts,
            resources.cpus,
            tool.effort(request.launches, case.model, quick=request.quick),
            partial(launched, tool, target, place, quick=request.quick),
            seed=request.seed,
            say=lambda text: say(f"{title}: {text}"),
        )
    except commands.REFUSED as error:
        say(f"{title}: {error}")
        return msgspec.structs.replace(cell, failure=f"{tool.name}: {error}")
    finally:
        target.client.close()


def pool(cells: Sequence[Cell]) -> dict[str, tuple[Finding, ...]]:
    """Return, for each model that has several backends, what all launches beside a bare loop say together."""
    found: dict[str, tuple[Finding, ...]] = {}
    ours = next(tool for tool in TOOLS if tool.name == BARE)
    for model in dict.fromkeys(cell.case.model for cell in cells):
        contrasts = ours.contrasts(model)
        arms = {name for each in contrasts for name in (each.first, each.second)}
        among = [cell for cell in cells if cell.case.model == model and cell.findings and set(cell.arms) == arms]
        if len(among) > 1:
            found[model] = tuple(pooled(contrast, among) for contrast in contrasts)
    return found


def exit_code(cells: Sequence[Cell]) -> int:
    """Return 1 where a limit is exceeded, 2 where a cell failed, 3 where a limit is not shown to hold, else 0."""
    verdicts = {finding.verdict for cell in cells for finding in cell.findings}
    if "outside" in verdicts:
        return OUTSIDE
    if any(cell.failure for cell in cells) or not verdicts:
        return commands.COULD_NOT_RUN
    return INCONCLUSIVE if "not shown" in verdicts else WITHIN


@click.command(context_settings=commands.SETTINGS)
@click.option("--tools", type=NAMES, default=(), help=f"Default: {', '.join(tool.name for tool in TOOLS)}.")
@click.option("--models", type=NAMES, default=("mlp", "resnet50", "bert"), help="Only these, separated by commas.")
@click.option("--backends", type=NAMES, default=(), help="Backends to compare with a bare loop; default: all.")
@click.option("--launches", type=click.IntRange(1), default=6, show_default=True, help="Launches of a cell.")
@click.option("--threads", type=int, default=None, help="Threads of every side; default: one per core.")
@commands.seed_option
@click.option("--quick", is_flag=True, help="Two launches and short windows: it shows that all works, and no more.")
@commands.out_option
def main(out: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Compare Levelfield's worker and other tools with bare loops."""
    request = msgspec.convert(requested, Request)
    if request.quick:
        request = msgspec.structs.replace(request, launches=2)
    measured = partial(run, request=request)
    trial = commands.conduct(Trial, measured, lambda trial: trial, markdown, out=out)
    sys.exit(exit_code(trial.cells))


if __name__ == "__main__":
    main()
