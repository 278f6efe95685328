"""What studies have in common: records, options, messages, the exit on an error, and preparation."""

import datetime as dt
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click
import msgspec
from rich.markdown import Markdown
from rich.markup import escape

from levelfield import terminals
from levelfield.backends.protocol import Unsupported
from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import DockerLauncher, connect
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import WorkerError
from levelfield.machine.fingerprint import fingerprint
from levelfield.plan import Plan, Selection, make
from levelfield.record.files import write_atomically
from levelfield.record.schema import Fingerprint, Warning_
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources, remove_caches
from levelfield.statistics.proportions import Proportion
from levelfield.version import __version__

FOLDER = Path("reports/trials")
MAX_BYTES = 1 << 28
"""Largest file that is read."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial measured and found."""

    TRIAL: ClassVar[str]
    """Name of the trial, in messages and in the name of the file."""
    SCHEMA: ClassVar[int] = 1
    """Version of the type."""

    schema: int


class MachineRecord(Record, frozen=True, kw_only=True):
    """The record of a trial that measures one machine."""

    started: str
    tool_version: str
    machine: Fingerprint


def site_facts(resources: RunResources) -> dict[str, Any]:
    """Return the fields of a record that follow from what was prepared."""
    return {
        "tool_version": __version__,
        "machine": fingerprint(resources.cpus),
        "images": tuple(resources.images.values()),
        "artifacts": tuple(file.artifact for file in resources.files.values()),
    }


def share(found: Proportion) -> str:
    """`3 of 20 (3.2 to 37.9 %)`."""
    return f"{found.successes} of {found.trials} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"


_R = TypeVar("_R", bound=Record)


def read(path: Path, kind: type[_R]) -> _R:
    """Read a trial's record."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise LevelfieldError(f"{path} is larger than any record of this trial.")
        record = msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise LevelfieldError(f"{path} cannot be read: {error.strerror or error}.") from error
    except msgspec.MsgspecError as error:
        raise LevelfieldError(f"{path} is not a record of the {kind.TRIAL} trial: {error}.") from error
    if record.schema != kind.SCHEMA:
        raise LevelfieldError(
            f"{path} has schema {record.schema}, this Levelfield reads {kind.SCHEMA}.",
            fix="Use the Levelfield that wrote it.",
        )
    return record


def write(record: object, path: Path, markdown: str = "", *, indent: int = 1) -> None:
    """Write a record and its tables, each file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(record), indent=indent) + b"\n")
    if markdown:
        write_atomically(path.with_suffix(".md"), markdown.encode())


COULD_NOT_RUN = 2
"""Exit code."""
REFUSED = (LevelfieldError, WorkerError, Unsupported)
"""What ends a measurement, and is no mistake of ours."""
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
add_option = click.option("--add", is_flag=True, help="Add to the record that --out names.")


class Terminal(SilentListener):
    """Prints steps, generations, warnings and findings, and nothing of rounds."""

    def __init__(self) -> None:
        self._console = terminals.console()

    def say(self, text: str) -> None:
        self._console.print(f"[dim]{escape(text)}[/]", highlight=False, soft_wrap=True)

    def generation(self, case: str, index: int, planned: int) -> None:  # noqa: ARG002  (an interface)
        self.say(f"{case}: generation {index + 1}")

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
    except (*REFUSED, OSError) as error:
        opened.fail(str(error))
        sys.exit(COULD_NOT_RUN)


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


def default_path(name: str) -> Path:
    """Return where a record is written unless another file is named."""
    return FOLDER / f"{name}-{dt.datetime.now(dt.UTC):%Y-%m-%d}.json"


def selection(models: Sequence[str], backends: Sequence[str], threads: int | None = None, **others: Any) -> Selection:  # noqa: ANN401
    """Select calls of these models on these backends, without a control."""
    fields = {"profile": "smoke", "scenarios": ("latency",), "control": "none", **others}
    numbers = () if threads is None else (threads,)
    return Selection(models=tuple(models), backends=tuple(backends), threads=numbers, **fields)


@contextmanager
def prepared(
    selected: Selection | Plan, listener: Terminal, launcher: Launcher | None = None
) -> Iterator[tuple[Plan, RunResources]]:
    """Make everything that a trial needs, and remove its compile caches afterwards."""
    plan = make(selected) if isinstance(selected, Selection) else selected
    chosen = launcher or DockerLauncher(connect())
    chosen.sweep()
    resources = prepare(plan, chosen, listener)
    try:
        yield plan, resources
    finally:
        remove_caches(resources.caches)
