"""The commands of this trial, one for each part; every one writes a JSON record."""

from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from studies import commands
from studies.gpu import answers, ceilings, faults, parities, sensors, turns
from suite.backends.protocol import Unsupported
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.launchers.worker import WorkerError
from suite.record.files import write_atomically

out_option = click.option("--out", type=click.Path(path_type=Path), required=True, help="JSON file of the record.")
gpu_option = click.option("--gpu", type=click.IntRange(0), default=0, show_default=True, help="Index of the GPU.")


@click.group(context_settings=commands.SETTINGS)
def main() -> None:
    """See on a GPU what cannot be seen without one."""


def _keep(out: Path, measure: Callable[[], msgspec.Struct]) -> None:
    with commands.terminal() as terminal:
        try:
            record = measure()
        except (WorkerError, Unsupported) as error:
            raise LevelfieldError(str(error)) from error
        write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        terminal.say(f"Record: {out}")


@main.command("sensors")
@gpu_option
@click.option("--seconds", type=click.FloatRange(1), default=4.0, show_default=True, help="Length of the load.")
@out_option
def sensors_command(gpu: int, seconds: float, out: Path) -> None:
    """Compare what NVML says with what nvidia-smi says, idle and under a load."""
    _keep(out, lambda: sensors.compare(gpu, seconds))


@main.command("answers")
@click.option("--models", type=NAMES, default=("mlp", "resnet50", "bert"), help="Models, separated by commas.")
@out_option
def answers_command(models: tuple[str, ...], out: Path) -> None:
    """Let torch compute fp32 in TF32, and see whether the comparison with the reference refuses it."""
    _keep(out, lambda: answers.with_hidden_tf32(models))


@main.command("ceilings")
@out_option
def ceilings_command(out: Path) -> None:
    """Multiply large matrices in each precision and copy memory, as fast as torch does."""
    _keep(out, ceilings.measure)


@main.command("parities")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@out_option
def parities_command(runs: tuple[Path, ...], out: Path) -> None:
    """Put the errors of all arms of some runs side by side."""
    _keep(out, lambda: parities.collect(runs))


@main.command("turns")
@click.option("--model", default="resnet50", show_default=True, help="Model of both arms.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Inputs of a call.")
@click.option("--launches", type=click.IntRange(1), default=2, show_default=True, help="Launches.")
@click.option("--windows", type=click.IntRange(2), default=10, show_default=True, help="Windows in each phase.")
@out_option
def turns_command(model: str, batch: int, launches: int, windows: int, out: Path) -> None:
    """Compare an arm alone on the GPU with the same worker while another arm takes turns with it."""
    with commands.terminal() as terminal:
        _keep(out, lambda: turns.measure(model, batch, launches, windows, terminal))


@main.command("faults")
@gpu_option
@click.option("--only", type=NAMES, default=tuple(faults.FAULTS), help="Faults, separated by commas.")
@out_option
def faults_command(gpu: int, only: tuple[str, ...], out: Path) -> None:
    """Fill the memory, kill a worker, hang a kernel, start two runs at once; see what is left on the GPU."""
    _keep(out, lambda: faults.cause(gpu, only))
