"""The `levelfield` command: its subcommands, and how errors end it."""

import itertools
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click
from rich.markup import escape

from levelfield.cli import completion, tools
from levelfield.cli.ab import ab
from levelfield.cli.answers.printing import JSON, print_json
from levelfield.cli.baseline import baseline
from levelfield.cli.bundle import bundle, unbundle
from levelfield.cli.compare import compare
from levelfield.cli.config import apply, config
from levelfield.cli.contract import contract
from levelfield.cli.explain import explain
from levelfield.cli.export import export
from levelfield.cli.from_plugins import ToolGroup
from levelfield.cli.help_sections import SectionedCommand
from levelfield.cli.history import history
from levelfield.cli.measuring import options_of, selection
from levelfield.cli.options import (
    BASE,
    BUDGET,
    DATA,
    DATA_ITEMS,
    IDENTIFY,
    LATENCY_TARGET,
    LAUNCHER,
    LOADGEN_TEST,
    MARGIN,
    NAMES,
    PERCENT,
    PRICE,
    REPORTS,
    SEED,
    SIGN,
    SO_FAR,
    UNTIL,
)
from levelfield.cli.publish import card, publish
from levelfield.cli.push import push
from levelfield.cli.reproduce import reproduce
from levelfield.cli.upgrade import upgrade
from levelfield.cli.verify import verify
from levelfield.errors import LevelfieldError
from levelfield.paths import disk_space
from levelfield.safety import terminals
from levelfield.version import __version__

COULD_NOT_RUN = 2
DEBUG = "LEVELFIELD_DEBUG"
"""Variable that lets an unexpected error end in its traceback."""


@click.group(
    cls=ToolGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="levelfield")
@click.pass_context
def cli(context: click.Context) -> None:
    """Benchmark deep-learning stacks on the same models, with verified outputs and intervals for every difference."""
    apply(context)


@cli.command(cls=SectionedCommand)
@selection
@click.option(
    "--backends",
    type=NAMES,
    default=(),
    shell_complete=completion.backends,
    help="Only these backends, separated by commas.",
)
@click.option("--control", default="auto", help="Backend to measure twice, as a control; auto or none.")
@BUDGET
@UNTIL
@SO_FAR
@click.option("--precision-target", type=PERCENT, help="Continue until every ratio is known to ± this.")
@MARGIN
@LAUNCHER
@BASE
@REPORTS
@click.option("--resume", metavar="RUN", shell_complete=completion.runs, help="Continue an interrupted run.")
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    help="Repeat the whole run N times: `levelfield compare` needs three runs per side to compare speed.",
)
@click.option(
    "--alternate",
    metavar="ARMS",
    type=NAMES,
    default=(),
    shell_complete=completion.backends,
    help="With --repeat: also measure these backends as a second side; runs of both sides alternate.",
)
@click.option("--seed", type=SEED, help="Seed of the schedule (of the first run); it is stored in the record.")
@click.option("--strict", is_flag=True, help="Exit with 3 if something could not be ranked.")
@IDENTIFY
@DATA
@DATA_ITEMS
@click.option("--target", type=PERCENT, help="Accuracy at which convergence ends, such as 90%.")
@LATENCY_TARGET
@LOADGEN_TEST
@PRICE
@SIGN
@JSON
def bench(*, as_json: bool, **values: Any) -> None:  # noqa: ANN401  (each option has a type of its own)
    """Measure backends on the same models, and write a report.

    Missing images are built first.
    """
    from levelfield.cli.answers.measured import measured
    from levelfield.run.bench import run_bench

    done = run_bench(options_of(values), terminals.console(stderr=as_json))
    if as_json:
        print_json(measured(done.folders, done.exit_code))
    sys.exit(done.exit_code)


for _command in (
    *(
        ab,
        baseline,
        bundle,
        card,
        compare,
        completion.completion,
        config,
        explain,
        contract,
        export,
        history,
        publish,
        push,
        reproduce,
        unbundle,
        upgrade,
        verify,
    ),
    *(tools.build, tools.clean, tools.doctor, tools.list_, tools.lock, tools.report, tools.schema),
):
    cli.add_command(_command)


def main() -> NoReturn:
    """Run the command; every expected error is one sentence on stderr and an exit code, never a traceback."""
    terminals.never_refuse()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _refuse_empty(sys.argv[1:])
        with disk_space():
            cli(prog_name="levelfield", standalone_mode=False)
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
