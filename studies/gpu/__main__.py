"""The commands of this trial, one for each part; every one writes a JSON record."""

from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from studies import commands
from studies.gpu import faults, turns
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


if __name__ == "__main__":
    main()
