"""Whether the threads of one arm, which spin after its last call, reach the next arm's timed calls.

`nox -s spin` calls it. It wants a quiet machine for some minutes; its record is committed with the reports.
"""

import sys
from pathlib import Path

import click
import msgspec

from suite.cli.options import NAMES
from suite.schedule.rounds import WARM_CALLS, WARM_NS, Pace
from suite.trials import commands
from suite.trials.record import new_facts, read, write
from suite.trials.spin import findings
from suite.trials.spin.measure import measure
from suite.trials.spin.record import Trial
from suite.trials.spin.show import markdown

BACKENDS = ("onnxruntime", "openvino", "torch")
MODELS = ("resnet50", "mlp")
PACES = {"mlp": Pace(0, 30_000_000, 20, 0)}
PACE = Pace(0, 150_000_000, 4, 0)
"""Of other models."""


class Request(msgspec.Struct, frozen=True):
    """What the trial was asked for."""

    models: tuple[str, ...]
    backends: tuple[str, ...]
    seconds: float
    """Of each model."""
    launcher: str
    seed: int


def run(request: Request, out: Path, listener: commands.Terminal) -> Trial:
    """Measure every model.

    Parameters
    ----------
    request : Request
        What to measure.
    out : Path
        Where the record is written after every model.
    listener : commands.Terminal
        Display of the progress.

    Returns
    -------
    Trial
        Without findings.

    Raises
    ------
    LevelfieldError
        No engine answers, an image cannot be made, or an arm cannot be measured.
    """
    with commands.prepared(commands.selection(request.models, request.backends), listener, request.launcher) as (
        plan,
        site,
    ):
        trial = Trial(
            **new_facts(site),
            schema=Trial.SCHEMA,
            seed=request.seed,
            launcher=request.launcher,
            warm_calls=WARM_CALLS,
            warm_ns=WARM_NS,
        )
        for block in plan.blocks:
            listener.say(f"{block.case.model}: {request.seconds:.0f} seconds")
            pace = PACES.get(block.case.model, PACE)
            cell = measure(site, block, pace, seconds=request.seconds, seed=request.seed)
            trial = trial.updated(cells=(*trial.cells, cell))
            write(trial, out, indent=-1)
    return trial


def analyse(trial: Trial, out: Path) -> Trial:
    """Add the findings, and write the record and the tables beside it.

    Parameters
    ----------
    trial : Trial
        What was measured.
    out : Path
        File of the record.

    Returns
    -------
    Trial
        With its findings.
    """
    trial = msgspec.structs.replace(
        trial,
        findings=findings.find(trial.cells),
        verdicts=findings.judge(trial.cells),
        warming=findings.warming(trial.cells),
    )
    write(trial, out, markdown(trial), indent=-1)
    return trial


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", type=NAMES, default=MODELS, help="Only these, separated by commas.")
@click.option("--backends", type=NAMES, default=BACKENDS, help="Arms beside the canary; onnxruntime among them.")
@click.option("--seconds", type=click.FloatRange(1), default=150, show_default=True, help="Time for each model.")
@click.option("--launcher", type=click.Choice(["docker", "venv"]), default="docker", show_default=True)
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: object) -> None:
    """Measure how often a window's first call is slow, by the arm before it, with the old rule and the new one."""
    with commands.terminal() as listener:
        out = only or out or commands.default_path("spin")
        request = msgspec.convert(requested, Request)
        trial = analyse(read(out, Trial) if only else run(request, out, listener), out)
        listener.show(markdown(trial), out)
    sys.exit(0 if all(each.holds for each in trial.verdicts if each.rule == "until still") else 1)
