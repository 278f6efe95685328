"""Whether an image is the same bytes every time: each is built twice from nothing, and its layers compared.

`nox -s images` calls it. The engine's cache is not used; wheels and the base, which are locked by hash, are. Two builds
on one machine share its kernel, its engine and its file system; a second machine's record says more when it shows the
same layers, which is what this record is committed for.
"""

import datetime as dt
import sys
import time
from pathlib import Path
from typing import cast

import click
import msgspec
from rich.markup import escape

from suite import __version__, plan
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.images import engine
from suite.images.build import build
from suite.machine.fingerprint import fingerprint
from suite.record.files import write_atomically
from suite.record.schema import Fingerprint
from suite.safety import terminals
from suite.schedule.outcomes import utc_now

SCHEMA = 1
SAME, DIFFERENT, COULD_NOT_RUN = 0, 1, 2


class Twice(msgspec.Struct, frozen=True):
    """One image, built twice."""

    image: str
    tag: str
    lock_sha256: str
    base: str
    first: tuple[str, ...]
    """Digests of its layers (`RootFS.Layers`), the base's first."""
    second: tuple[str, ...]
    size_bytes: int
    seconds: float
    """Of both builds."""

    @property
    def same(self) -> bool:
        return self.first == self.second


class Record(msgspec.Struct, frozen=True):
    """The whole record."""

    schema: int
    started: str
    finished: str
    tool_version: str
    engine: str
    machine: Fingerprint
    images: tuple[Twice, ...]


def twice(name: str) -> Twice:
    """Build an image twice from nothing.

    Raises
    ------
    LevelfieldError
        As `suite.images.build.build` does.
    """
    began = time.monotonic()
    first = build(name, use_cache=False)
    second = build(name, use_cache=False)
    return Twice(
        image=name,
        tag=second.tag,
        lock_sha256=second.lock_sha256,
        base=second.base,
        first=first.layers,
        second=second.layers,
        size_bytes=cast("int", second.size_bytes),
        seconds=time.monotonic() - began,
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--images", type=NAMES, default=(), help="Only these, separated by commas; default: all CPU images.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Record; default: under reports/trials/.")
def main(images: tuple[str, ...], out: Path | None) -> None:
    """Build images twice with no cache and compare their layers; exits with 1 where they differ."""
    console = terminals.console()
    out = out if out is not None else Path("reports/trials") / f"images-{dt.datetime.now(dt.UTC):%Y-%m-%d}.json"
    started = utc_now()
    found: list[Twice] = []
    try:
        with engine.connect() as client:
            version = str(client.version()["Version"])
        for name in images or plan.all_images():
            one = twice(name)
            found.append(one)
            verdict = "[green]the same layers[/]" if one.same else "[bold red]different layers[/]"
            console.print(f"{escape(name)}: {verdict}, {len(one.second)} of them, {one.seconds:.0f} s", highlight=False)
            out.parent.mkdir(parents=True, exist_ok=True)
            record = Record(
                schema=SCHEMA,
                started=started,
                finished=utc_now(),
                tool_version=__version__,
                engine=version,
                machine=fingerprint(()),
                images=tuple(found),
            )
            write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        sys.exit(COULD_NOT_RUN)
    console.print(f"Record: {escape(str(out))}", highlight=False, soft_wrap=True)
    sys.exit(SAME if all(one.same for one in found) else DIFFERENT)


if __name__ == "__main__":
    main()
