"""The `levelfield` command: its subcommands, and how errors end it."""

import itertools
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click
from rich.markup import escape

from levelfield import terminals
from levelfield.cli import completion, config, images, machine, measure, share
from levelfield.cli.compare import baseline, compare, history
from levelfield.cli.help import ToolGroup
from levelfield.cli.reproduce import reproduce
from levelfield.cli.upgrade import upgrade
from levelfield.errors import LevelfieldError, one_line
from levelfield.paths import disk_space, locks_sha256, package_root, tool_sha256
from levelfield.version import __version__

COULD_NOT_RUN = 2
DEBUG = "LEVELFIELD_DEBUG"
"""Variable that lets an unexpected error end in its traceback."""


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        built = package_root() / "_commit"
        commit = f"commit {built.read_text(encoding='utf-8').strip()}, " if built.is_file() else ""
        click.echo(f"levelfield {__version__} ({commit}sources {tool_sha256()[:12]}, locks {locks_sha256()[:12]})")
        context.exit()


@click.group(
    cls=ToolGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Benchmark deep-learning stacks on the same models, with verified outputs and intervals for every difference."""
    config.apply(context)


@click.command(hidden=True)
@click.argument("command", nargs=-1, metavar="[COMMAND]")
def schema(command: tuple[str, ...]) -> None:
    """Print the JSON Schema of a record, or of what COMMAND prints with --json."""
    import json

    from levelfield.cli.json import schema_of

    print(json.dumps(schema_of(" ".join(command)), indent=2))


for _command in (
    *(measure.bench, measure.ab, upgrade, measure.explain, compare, baseline, reproduce, history),
    *(share.report, share.verify, share.export, share.publish),
    *(machine.doctor, machine.list_, images.images_, machine.plugins),
    *(config.config, completion.completion, schema),
):
    cli.add_command(_command)


def main() -> NoReturn:
    """Run the command; every expected error is one sentence on stderr and an exit code, never a traceback."""
    terminals.guard_streams()
    os.environ["PYTHONSAFEPATH"] = "1"  # a Python that a library starts takes no module from the current folder
    try:
        _refuse_empty(sys.argv[1:])
        with disk_space():
            try:
                cli(prog_name="levelfield", standalone_mode=False)
            finally:
                sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        help_of = f"See `{context.command_path} --help`." if context is not None else ""
        _print_error(error.format_message(), help_of)
    except LevelfieldError as error:
        _print_error(error.message, error.fix)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        terminals.console(stderr=True).print("Interrupted.")
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
            what = one_line(f"{type(error).__name__}: {error}", 300)
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
