"""Whether the threads of one arm, which spin after its last call, reach the next arm's timed calls.

`nox -s spin` calls it. It wants a quiet machine for some minutes; its record is committed with the reports.
"""

import datetime as dt
import os
import secrets
import shutil
import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from suite import __version__, plan
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.launchers.docker import DockerLauncher, connect
from suite.launchers.venv import VenvLauncher
from suite.machine.fingerprint import fingerprint
from suite.record.files import write_atomically
from suite.safety import terminals
from suite.schedule.outcomes import utc_now
from suite.schedule.preparation import prepare
from suite.schedule.rounds import WARM_CALLS, WARM_NS, Pace
from suite.trials.spin import findings, record
from suite.trials.spin.measure import measure
from suite.trials.spin.record import SCHEMA, Trial
from suite.trials.spin.show import markdown
from suite.trials.telling import Lines

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
    seed: int
    launcher: str
    out: Path


def run(request: Request, console: Console) -> Trial:
    """Measure every model and return the record.

    Raises
    ------
    LevelfieldError
        No engine answers, an image cannot be made, or an arm cannot be measured.
    """
    chosen = plan.make(
        plan.Selection(
            profile="smoke",
            models=request.models,
            backends=request.backends,
            scenarios=("latency",),
            control="none",
        )
    )
    say = Lines(console)
    launcher = DockerLauncher(connect()) if request.launcher == "docker" else VenvLauncher()
    launcher.sweep()
    site = prepare(chosen, launcher, say)
    try:
        trial = Trial(
            schema=SCHEMA,
            started=utc_now(),
            finished=utc_now(),
            tool_version=__version__,
            seed=request.seed,
            launcher=request.launcher,
            warm_calls=WARM_CALLS,
            warm_ns=WARM_NS,
            machine=fingerprint(site.cpus),
            images=tuple(site.images.values()),
            artifacts=tuple(onnx.artifact for onnx in site.onnx.values()),
            load_before=os.getloadavg(),
            load_after=os.getloadavg(),
        )
        for block in chosen.blocks:
            say.say(f"{block.case.model}: {request.seconds:.0f} seconds")
            pace = PACES.get(block.case.model, PACE)
            cell = measure(site, block, pace, seconds=request.seconds, seed=request.seed)
            trial = msgspec.structs.replace(trial, cells=(*trial.cells, cell))
            record.write(trial, request.out)
    finally:
        shutil.rmtree(site.caches, ignore_errors=True)
    return msgspec.structs.replace(trial, finished=utc_now(), load_after=os.getloadavg())


def analyse(trial: Trial, out: Path) -> Trial:
    """Add the findings, and write the record and the tables beside it."""
    trial = msgspec.structs.replace(
        trial,
        findings=findings.find(trial.cells),
        verdicts=findings.judge(trial.cells),
        warming=findings.warming(trial.cells),
    )
    record.write(trial, out)
    write_atomically(out.with_suffix(".md"), markdown(trial).encode())
    return trial


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--models", type=NAMES, default=MODELS, help="Only these, separated by commas.")
@click.option("--backends", type=NAMES, default=BACKENDS, help="Arms beside the canary; onnxruntime among them.")
@click.option("--seconds", type=click.FloatRange(1), default=150, show_default=True, help="Time for each model.")
@click.option("--launcher", type=click.Choice(["docker", "venv"]), default="docker", show_default=True)
@click.option("--seed", type=int, default=None, help="Seed of the schedule; the record holds it.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Record; default: under reports/trials/.")
@click.option("--analyse", "only", type=click.Path(path_type=Path), default=None, help="Only analyse this record anew.")
def main(
    models: tuple[str, ...],
    backends: tuple[str, ...],
    seconds: float,
    launcher: str,
    seed: int | None,
    out: Path | None,
    only: Path | None,
) -> None:
    """Measure how often a window's first call is slow, by the arm before it, with the old rule and the new one."""
    console = terminals.console()
    out = out if out is not None else Path("reports/trials") / f"spin-{dt.datetime.now(dt.UTC):%Y-%m-%d}.json"
    seed = seed if seed is not None else secrets.randbits(63)
    try:
        if only is not None:
            out, trial = only, record.read(only)
        else:
            out.parent.mkdir(parents=True, exist_ok=True)
            trial = run(Request(models, backends, seconds, seed, launcher, out), console)
        trial = analyse(trial, out)
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        sys.exit(2)
    console.print(escape(markdown(trial)), highlight=False, soft_wrap=True)
    console.print(f"Record: {escape(str(out))}", highlight=False, soft_wrap=True)
    sys.exit(0 if all(each.holds for each in trial.verdicts if each.rule == "until still") else 1)
