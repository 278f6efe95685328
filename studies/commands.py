"""What the commands of trials have in common: options, messages, the exit on an error, and preparation."""

import datetime as dt
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.markdown import Markdown
from rich.markup import escape

from studies.record import FOLDER, Record, read, write
from suite.errors import LevelfieldError
from suite.launchers.docker import DockerLauncher, connect
from suite.launchers.host import HostLauncher
from suite.launchers.protocol import Launcher
from suite.launchers.venv import VenvLauncher
from suite.plan import Plan, Selection, make
from suite.record.schema import Warning_
from suite.safety import terminals
from suite.schedule import scratch
from suite.schedule.listener import SilentListener
from suite.schedule.preparation import prepare
from suite.schedule.resources import RunResources

COULD_NOT_RUN = 2
"""Exit code."""
SETTINGS = {"help_option_names": ["-h", "--help"]}
"""Of every command."""

seed_option = click.option(
    "--seed",
    type=int,
    default=None,
    callback=lambda _context, _option, value: secrets.randbits(63) if value is None else value,
    help="Seed of the schedule; the record holds it.",
)
out_option = click.option(
    "--out", type=click.Path(path_type=Path), default=None, help="Record; default: under reports/trials/."
)
analyse_option = click.option(
    "--analyse",
    "only",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    metavar="RECORD",
    help="Only analyse this record anew, and write it and its table again.",
)
launcher_option = click.option(
    "--launcher",
    type=click.Choice(["docker", "venv"]),
    default="docker",
    show_default=True,
    help="Where to run workers.",
)
add_option = click.option("--add", is_flag=True, help="Add to the record that --out names.")


class Terminal(SilentListener):
    """Prints steps, warnings and findings, and nothing of rounds."""

    def __init__(self) -> None:
        self._console = terminals.console()

    def say(self, text: str) -> None:
        self._console.print(f"[dim]{escape(text)}[/]", highlight=False, soft_wrap=True)

    def warn(self, warning: Warning_) -> None:
        self.say(warning.message)

    def fail(self, text: str) -> None:
        self._console.print(f"[red]{escape(text)}[/]", highlight=False)

    def show(self, markdown: str, path: Path | None = None) -> None:
        """Print findings."""
        self._console.print(Markdown(markdown))
        if path is not None:
            self._console.print(f"Record: {escape(str(path))}", highlight=False, soft_wrap=True)


@contextmanager
def terminal() -> Iterator[Terminal]:
    """Give a command its terminal; an error that the user can do something about is printed, and ends with code 2."""
    opened = Terminal()
    try:
        yield opened
    except (LevelfieldError, OSError) as error:
        opened.fail(str(error))
        sys.exit(COULD_NOT_RUN)


_R = TypeVar("_R", bound=Record)
Keep = Callable[[_R], None]
"""Writes what a trial has measured so far."""


def conduct(
    kind: type[_R],
    measure: Callable[[Keep[_R], Terminal], _R],
    analyse: Callable[[_R], _R],
    markdown: Callable[[_R], str],
    *,
    out: Path | None,
    only: Path | None = None,
    indent: int = 1,
) -> _R:
    """Measure, or read a record; then analyse it, write it and its tables, and print them."""
    with terminal() as listener:
        path = out or only or default_path(kind.TRIAL)
        record = analyse(read(only, kind) if only else measure(lambda part: write(part, path, indent=indent), listener))
        write(record, path, markdown(record), indent=indent)
        listener.show(markdown(record), path)
    return record


def default_path(name: str, kind: str = "") -> Path:
    """Return where a record is written unless another file is named."""
    return FOLDER / f"{name}-{dt.datetime.now(dt.UTC):%Y-%m-%d}{kind}.json"


def selection(models: Sequence[str], backends: Sequence[str], threads: int | None = None, **others: Any) -> Selection:  # noqa: ANN401
    """Select calls of these models on these backends, without a control."""
    fields = {"profile": "smoke", "scenarios": ("latency",), "control": "none", **others}
    numbers = () if threads is None else (threads,)
    return Selection(models=tuple(models), backends=tuple(backends), threads=numbers, **fields)


def _launcher(name: str) -> Launcher:
    if name == "host":
        return HostLauncher()
    return VenvLauncher() if name == "venv" else DockerLauncher(connect())


@contextmanager
def prepared(selected: Selection, listener: Terminal, launcher: str = "docker") -> Iterator[tuple[Plan, RunResources]]:
    """Make everything that a trial needs, and remove its compile caches afterwards."""
    plan = make(selected)
    chosen = _launcher(launcher)
    chosen.sweep()
    resources = prepare(plan, chosen, listener)
    try:
        yield plan, resources
    finally:
        scratch.remove(resources.caches)
