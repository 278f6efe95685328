"""What random padding of the environment does to the variance between launches.

`nox -s padding` calls it. It wants a quiet machine for some minutes; its record is committed with the reports.
"""

from pathlib import Path

import click
import msgspec

from suite.cli.options import NAMES
from suite.machine.signals import Signals
from suite.schedule.rounds import Pace
from suite.trials import commands
from suite.trials.padding.findings import find
from suite.trials.padding.measure import TOGETHER, generation
from suite.trials.padding.record import Cell, Trial
from suite.trials.padding.show import markdown
from suite.trials.record import new_facts, read, write

MODELS = ("mlp", "resnet50")
LAUNCHES = 40
PACES = {"mlp": Pace(8, 30_000_000, 20, 0)}
PACE = Pace(6, 150_000_000, 4, 0)
"""Of other models."""


class Request(msgspec.Struct, frozen=True):
    """What the trial was asked for."""

    models: tuple[str, ...]
    backend: str
    launches: int
    """With either treatment, of each model."""
    threads: int | None
    launcher: str
    seed: int


def run(request: Request, out: Path, listener: commands.Terminal) -> Trial:
    """Measure the generations of all models by turns, so that a change of the machine meets all of them.

    Parameters
    ----------
    request : Request
        What to measure.
    out : Path
        Where the record is written after every generation.
    listener : commands.Terminal
        Display of the progress.

    Returns
    -------
    Trial
        Without findings.

    Raises
    ------
    LevelfieldError
        No engine answers, an image cannot be made, or the arm cannot be measured.
    """
    wanted = commands.selection(request.models, [request.backend], request.threads)
    with commands.prepared(wanted, listener, request.launcher) as (plan, site), Signals(site.cpus) as signals:
        trial = Trial(**new_facts(site), schema=Trial.SCHEMA, seed=request.seed, launcher=request.launcher)
        paces = [PACES.get(block.case.model, PACE) for block in plan.blocks]
        cells = [
            Cell(block.case, block.arms[0].id, pace.window_ns, pace.min_calls)
            for block, pace in zip(plan.blocks, paces, strict=True)
        ]
        count = -(-request.launches // TOGETHER)
        for index in range(count):
            for place, (block, pace) in enumerate(zip(plan.blocks, paces, strict=True)):
                listener.say(f"{block.case.model}: generation {index + 1} of {count}")
                seed = f"{request.seed}/{block.case.id}/{index}"
                taken = generation(site, block.case, block.arms[0], pace, signals, seed)
                earlier = cells[place].generations
                cells[place] = msgspec.structs.replace(cells[place], generations=(*earlier, taken))
            trial = trial.updated(cells=tuple(cells))
            write(trial, out, indent=-1)
    return trial


def analyse(trial: Trial, out: Path) -> Trial:
    """Add the findings, and write the record and the table beside it.

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
    trial = msgspec.structs.replace(trial, findings=tuple(map(find, trial.cells)))
    write(trial, out, markdown(trial), indent=-1)
    return trial


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", type=NAMES, default=MODELS, help="Only these, separated by commas.")
@click.option("--backend", default="onnxruntime", show_default=True, help="The arm that is launched again and again.")
@click.option(
    "--launches", type=click.IntRange(2 * TOGETHER), default=LAUNCHES, show_default=True, help="In either treatment."
)
@click.option("--threads", type=click.IntRange(1), default=None, help="Default: one for every core.")
@click.option("--launcher", type=click.Choice(["docker", "venv"]), default="docker", show_default=True)
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: object) -> None:
    """Launch one arm with padding fixed at 0 bytes and with random padding, by turns, and compare the variances."""
    with commands.terminal() as listener:
        out = only or out or commands.default_path("padding")
        request = msgspec.convert(requested, Request)
        trial = analyse(read(out, Trial) if only else run(request, out, listener), out)
        listener.show(markdown(trial), out)
