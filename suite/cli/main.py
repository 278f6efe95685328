"""The `levelfield` command: names for people to type."""

import itertools
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn

import click
from rich.markup import escape

from suite import __version__
from suite.cli.ab import ab
from suite.cli.bundle import bundle, unbundle
from suite.cli.compare import baseline, compare
from suite.cli.explain import explain
from suite.cli.export import export
from suite.cli.history import history
from suite.cli.measuring import options_of, selection
from suite.cli.options import BASE, BUDGET, GPU, IDENTIFY, LAUNCHER, MARGIN, NAMES, PERCENT, REPORTS, SEED
from suite.cli.publish import card, publish
from suite.cli.reproduce import reproduce
from suite.cli.verify import verify
from suite.errors import LevelfieldError
from suite.safety import terminals

COULD_NOT_RUN = 2
DEBUG = "LEVELFIELD_DEBUG"
"""Variable that lets an unexpected error end in its traceback."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="levelfield")
def cli() -> None:
    """Compare deep-learning stacks: the same models, proven equal, measured so that a difference can be believed."""


_sign = click.option(
    "--sign",
    metavar="KEY",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="Sign the run's statement with this SSH key.",
)


@cli.command()
@selection
@click.option("--backends", type=NAMES, default=(), help="Only these, separated by commas.")
@click.option(
    "--control", default="auto", show_default=True, help="Backend that is measured twice, as a control, or none."
)
@BUDGET
@click.option("--precision-target", type=PERCENT, default=None, help="Go on until every ratio is known to ± this.")
@MARGIN
@LAUNCHER
@BASE
@REPORTS
@click.option("--resume", metavar="RUN", default=None, help="Go on with a run that was cut off.")
@click.option(
    "--repeat",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Make so many whole runs: replicates for `levelfield compare`, which judges speed from three a side on.",
)
@click.option(
    "--alternate",
    metavar="ARMS",
    type=NAMES,
    default=(),
    help="With --repeat: a second side with these backends in place of --backends; runs of both take turns.",
)
@click.option("--seed", type=SEED, default=None, help="Seed of the schedule (of the first run); the record holds it.")
@click.option("--strict", is_flag=True, help="Exit with 3 where something could not be ranked.")
@IDENTIFY
@click.option(
    "--data",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    default=None,
    help="Images of your own for the scenario convergence: train/CLASS/ and val/CLASS/, or CLASS/.",
)
@click.option("--target", type=PERCENT, default=None, help="Accuracy that convergence trains to: 90%.")
@_sign
def bench(**values: Any) -> None:  # noqa: ANN401  (each option has a type of its own)
    """Measure, compare and report: builds what is missing, then runs."""
    from suite.run.bench import run_bench

    sys.exit(run_bench(options_of(values), terminals.console()))


@cli.command()
@click.argument("images", nargs=-1)
@BASE
@click.option(
    "--export",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Write each into this folder as an archive for `docker load`, with its bill of materials.",
)
@click.option(
    "--variant", default="cpu", show_default=True, help="cpu, cu12, cu13; auto: what fits this machine's GPU."
)
@GPU
def build(
    images: tuple[str, ...],
    base: Literal["debian", "registry"],
    export: Path | None,
    variant: str,
    gpu: str | None,
) -> None:
    """Build images (all that backends need, unless named)."""
    from suite.cli.tools import build_images, fitting

    console = terminals.console()
    build_images(fitting(images, variant, gpu, console), base, console, export)


@cli.command()
@click.argument("images", nargs=-1)
def lock(images: tuple[str, ...]) -> None:
    """Resolve the requirement sets again; `onnxruntime@1.30.0` makes a lock of that version beside the current one."""
    from suite.cli.tools import lock_images

    lock_images(images, terminals.console())


@cli.command()
def doctor() -> None:
    """Look at this machine: what is missing, what will disturb, and the fix for each."""
    from suite.cli.tools import examine

    sys.exit(examine(terminals.console()))


@cli.command(name="list")
def list_() -> None:
    """Show what can be run."""
    from suite.cli.listing import show

    show(terminals.console())


@cli.command()
@click.argument("run")
@click.option("--reports", default=Path("reports"), type=click.Path(path_type=Path), show_default=True)
@_sign
def report(run: str, reports: Path, sign: Path | None) -> None:
    """Render the report of a record again, and show its result: a run's id, its folder or its run.json."""
    from suite.cli.tools import render
    from suite.compare.sides import find

    sys.exit(render(find(run, reports), terminals.console(), sign))


@cli.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def clean(*, yes: bool) -> None:
    """Delete images, environments, wheels and artifacts, which can all be made again. Reports stay."""
    from suite.cli.tools import delete_caches

    delete_caches(terminals.console(), yes=yes)


@cli.command()
def schema() -> None:
    """Print the JSON Schema of a record."""
    from suite.cli.tools import print_schema

    print_schema()


for _command in (baseline, compare, ab, history, verify, reproduce, explain, export, publish, bundle, unbundle, card):
    cli.add_command(_command)


def main() -> NoReturn:
    """Run the command; every expected error is one sentence on stderr and an exit code, never a traceback."""
    terminals.never_refuse()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _refuse_empty(sys.argv[1:])
        cli(standalone_mode=False)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
    except click.ClickException as error:
        error.show()
    except LevelfieldError as error:
        _print_error(error.message, error.fix)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        terminals.console(stderr=True).print("Interrupted.")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: let the last flush be silent
    except MemoryError:
        _print_error("There is not enough memory for this.", "Ask for less at once, or use another machine.")
    except Exception as error:  # a traceback would end with 1, which means that something is worse
        if os.environ.get(DEBUG):
            raise
        if isinstance(error, OSError):
            where = f" ({error.filename})" if error.filename else ""
            _print_error(
                f"The system refused something that was needed: {error.strerror or error}{where}.",
                "Look at the space on that disk and at who may write there.",
            )
        else:
            what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            _print_error(
                f"Levelfield failed unexpectedly ({what}).",
                f"This is a defect: please report it, with what {DEBUG}=1 shows.",
            )
    else:
        sys.exit(0)
    sys.exit(COULD_NOT_RUN)


def _print_error(message: str, fix: str) -> None:
    console = terminals.console(stderr=True)
    console.print(f"[bold red]{escape(message)}[/] {escape(fix)}", highlight=False, soft_wrap=True)


def _refuse_empty(words: Sequence[str]) -> None:
    """Refuse an empty value: a shell variable that is not set would silently mean the default, or everything."""
    for before, word in itertools.pairwise(("", *words)):
        if not word or (word.startswith("--") and word.endswith("=")):
            option = word or (before if before.startswith("-") else "")
            about = f" of {option.rstrip('=')}" if option else ""
            raise LevelfieldError(f"The value{about} is empty.", fix="Give it a value, or leave it out.")


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does: workers stopped, what was measured kept."""
    del number, frame
    raise KeyboardInterrupt
