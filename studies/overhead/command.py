"""What Levelfield adds to a measurement: its worker against a bare loop, and against OpenVINO's own `benchmark_app`.

It needs a quiet machine for half an hour; its record is committed with the reports.

Every backend is compared with a bare loop twice. In one process, the worker's loop and the bare one take short turns:
what is particular to a launch is in both, so a few launches show a percent. Between two processes, the worker and a
plain container with the bare loop, the variance between launches (about 1 % of a call) is in the ratio: six launches of
one backend do not show a percent there. The median over the launches of all backends is judged as well, since the
harness around each of them is the same.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from studies import commands
from studies.overhead.contestants import Pace, Target
from studies.overhead.findings import pooled
from studies.overhead.record import Cell, Contrast, Finding, Limit, Trial
from studies.overhead.schedule import Effort, launched, measure
from studies.overhead.show import markdown
from studies.record import begin
from suite.backends import registry
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.launchers.docker import connect
from suite.launchers.worker import WorkerError
from suite.plan import cpu_pinning
from suite.plan.decoding import decoders
from suite.record.schema import Block
from suite.schedule.resources import RunResources

APP = "openvino"
WITHIN, OUTSIDE, INCONCLUSIVE = 0, 1, 3
"""Exit codes."""


def contrasts_with_bare_loop(model: str) -> tuple[Contrast, ...]:
    """Return the contrasts of a cell: the limit is 1 % of a call, or 2 µs for the MLP, whose call takes some ten."""
    limit = Limit(ns=2000.0) if model == "mlp" else Limit(share=0.01)
    return (
        Contrast("worker", "bare loop", limit, "between two processes: worker against bare loop"),
        Contrast(
            "worker's loop",
            "bare loop",
            limit,
            "in one process: the worker's loop against the bare one",
            one_process=True,
        ),
    )


def contrasts_with_benchmark_app(model: str) -> tuple[Contrast, ...]:
    """Return the contrasts of OpenVINO: the limit is 2 % of a call, or 2 µs for the MLP by the clock of both sides.

    OpenVINO's own clock, which `benchmark_app` reads, starts and stops inside the library; Levelfield's goes from NumPy
    to NumPy. What lies between is nothing beside ResNet-50, and as much as the MLP's inference itself: the first
    contrast of the MLP is shown without a limit. A decoder's step has a limit of 3 %.
    """
    small = model == "mlp"
    share = Limit(share=0.03 if model in decoders() else 0.02)
    return (
        Contrast(
            "worker",
            "benchmark_app",
            Limit() if small else share,
            "from NumPy to NumPy against OpenVINO's own clock",
        ),
        Contrast(
            "OpenVINO's clock",
            "benchmark_app",
            Limit(ns=2000.0) if small else share,
            "the same step by the same clock",
        ),
        Contrast(
            "worker",
            "OpenVINO's clock",
            Limit(),
            "what lies outside OpenVINO's own clock: the call from Python, with its inputs and outputs",
        ),
    )


TURNS = {"mlp": (16, Pace(40_000_000, 5)), "resnet50": (20, Pace(60_000_000, 2)), "bert": (12, Pace(250_000_000, 2))}
"""Turns of each loop in a launch, by model: they are what a percent takes of the time of this trial."""
MOST_TURNS = max(turns for turns, _ in TURNS.values())


def run(
    keep: commands.Keep[Trial],
    listener: commands.Terminal,
    *,
    models: tuple[str, ...],
    backends: tuple[str, ...],
    effort: Effort,
    app_effort: Effort | None,
    threads: int | None,
    seed: int,
) -> Trial:
    """Measure every cell; what fails costs its own cell only."""
    decodes = require_alone(models, backends, app=app_effort is not None)
    backends = backends or (() if decodes else registry.names())
    with_app = (APP,) if app_effort else ()
    asked = ("decode",) if decodes else ("latency",)
    selected = commands.selection(models, tuple(dict.fromkeys((*backends, *with_app))), threads, scenarios=asked)
    with commands.prepared(selected, listener) as (plan, resources):
        settings = _settings({"bare loop": effort if backends else None, "benchmark_app": app_effort})
        trial = begin(Trial, resources, seed=seed, settings=settings)
        todo = [(block, backend, False) for block in plan.blocks for backend in backends]
        todo += [(block, backend, True) for block in plan.blocks for backend in with_app]
        for block, backend, app in todo:
            spent = app_effort if app and app_effort else _with_turns(effort, block.case.model)
            cells = (*trial.cells, _cell(resources, block, backend, spent, app=app, seed=seed, say=listener.say))
            trial = trial.updated(cells=cells, pooled=pool(cells))
            keep(trial)
    return trial


def require_alone(models: Sequence[str], backends: Sequence[str], *, app: bool) -> bool:
    """Return whether decoders are measured; refuse them beside other models, or against a bare loop."""
    some = [name for name in models if name in decoders()]
    if not some:
        return False
    if len(some) < len(models):
        raise LevelfieldError(
            f"{', '.join(some)} is measured in steps with a cache, and the other models in whole calls.",
            fix=f"Ask for it in a trial of its own: --models {','.join(some)}.",
        )
    if backends or not app:
        raise LevelfieldError(
            f"A step of {', '.join(some)} is compared with benchmark_app alone.",
            fix="Leave --backends and --no-app out.",
        )
    return True


def _cell(
    resources: RunResources,
    block: Block,
    backend: str,
    effort: Effort,
    *,
    app: bool,
    seed: int,
    say: Callable[[str], None],
) -> Cell:
    case = block.case
    arm = next(arm for arm in block.arms if arm.backend == backend)
    contrasts = contrasts_with_benchmark_app(case.model) if app else contrasts_with_bare_loop(case.model)
    names = tuple(dict.fromkeys(name for each in contrasts for name in (each.first, each.second)))
    cell = Cell(backend=backend, case=case, arms=names, generations=(), findings=())
    title = f"{case.model}, {backend}{', benchmark_app' if app else ''}"
    cpus = cpu_pinning.pinned(case.threads, resources.cpus, resources.topology)
    target = Target(connect(), resources, case, arm, cpus)
    try:
        launch = partial(launched, target, app=app)
        return measure(
            cell, contrasts, resources.cpus, effort, launch, seed=seed, say=lambda text: say(f"{title}: {text}")
        )
    except (LevelfieldError, WorkerError) as error:
        say(f"{title}: {error}")
        return msgspec.structs.replace(cell, failure=str(error))
    finally:
        target.client.close()


def _with_turns(effort: Effort, model: str) -> Effort:
    turns, pace = TURNS.get(model, TURNS["bert"])
    return msgspec.structs.replace(effort, turns=min(turns, effort.turns), turn=pace)


def pool(cells: Sequence[Cell]) -> dict[str, tuple[Finding, ...]]:
    """Judge each model's contrasts with a bare loop over the launches of all backends together."""
    found: dict[str, tuple[Finding, ...]] = {}
    for model in dict.fromkeys(cell.case.model for cell in cells):
        among = [cell for cell in cells if cell.case.model == model and cell.findings and "bare loop" in cell.arms]
        if len(among) > 1:
            found[model] = tuple(pooled(contrast, among) for contrast in contrasts_with_bare_loop(model))
    return found


def _settings(efforts: Mapping[str, Effort | None]) -> dict[str, float]:
    return {
        f"{name}, {what}": value
        for name, effort in efforts.items()
        if effort is not None
        for what, value in (
            ("launches at least", effort.launches),
            ("rounds", effort.rounds),
            ("window ns", effort.pace.window_ns),
            ("calls at least", effort.pace.min_calls),
            ("turns at most", effort.turns),
        )
    }


def exit_code(cells: Sequence[Cell]) -> int:
    """Return what the trial says to the shell.

    0: everything is within its limit; 1: something is not; 2: something could not be measured; 3: something was not
    shown.
    """
    verdicts = {finding.verdict for cell in cells for finding in cell.findings}
    if "outside" in verdicts:
        return OUTSIDE
    if any(cell.failure for cell in cells) or not verdicts:
        return commands.COULD_NOT_RUN
    return INCONCLUSIVE if "not shown" in verdicts else WITHIN


@click.command(context_settings=commands.SETTINGS)
@click.option(
    "--models",
    type=NAMES,
    default=("mlp", "resnet50", "bert"),
    help="Only these, separated by commas; or decoder, for a step with a cache beside benchmark_app.",
)
@click.option("--backends", type=NAMES, default=(), help="Backends to compare with a bare loop; default: all.")
@click.option("--app/--no-app", default=True, help="Compare OpenVINO with benchmark_app as well.")
@click.option("--launches", type=click.IntRange(1), default=6, show_default=True, help="Launches of a cell.")
@click.option("--rounds", type=click.IntRange(1), default=2, show_default=True, help="Windows of each process.")
@click.option("--window", type=click.FloatRange(0.01), default=0.25, show_default=True, help="Seconds in a window.")
@click.option("--threads", type=int, default=None, help="Threads of every side; default: one per core.")
@commands.seed_option
@click.option("--quick", is_flag=True, help="Two launches and short windows: it shows that all works, and no more.")
@commands.out_option
def main(
    app: bool,
    launches: int,
    rounds: int,
    window: float,
    quick: bool,
    out: Path | None,
    **requested: Any,  # noqa: ANN401
) -> None:
    """Measure what Levelfield adds to a call, and compare it with its limits."""
    effort = Effort(launches, rounds, Pace(round(window * 1e9), min_calls=3), turns=MOST_TURNS)
    app_effort = Effort(launches, 1, Pace(2_000_000_000, min_calls=5))
    if quick:
        effort = Effort(2, 2, Pace(50_000_000, min_calls=3), turns=3)
        app_effort = Effort(2, 1, Pace(1_000_000_000, min_calls=3))
    measured = partial(run, effort=effort, app_effort=app_effort if app else None, **requested)
    out = out or commands.default_path(Trial.TRIAL, "-decode" if set(requested["models"]) & set(decoders()) else "")
    trial = commands.conduct(Trial, measured, lambda trial: trial, markdown, out=out)
    sys.exit(exit_code(trial.cells))
