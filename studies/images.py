"""Whether an image is the same bytes every time: each is built twice from nothing, and its layers compared.

`nox -s images` calls it. The engine's cache is not used; wheels and the base, which are locked by hash, are. Two builds
on one machine share its kernel, its engine and its file system; a second machine's record says more when it shows the
same layers, which is what this record is committed for.
"""

import sys
import time
from pathlib import Path
from typing import ClassVar, cast

import click
import msgspec

from studies import commands, record
from suite import plan
from suite.cli.options import NAMES
from suite.images import engine
from suite.images.build import build
from suite.machine.fingerprint import fingerprint
from suite.schedule.outcomes import utc_now
from suite.version import __version__

SAME, DIFFERENT = 0, 1
"""Exit codes."""


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


class Record(record.MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "images"

    finished: str
    engine: str
    images: tuple[Twice, ...]


def build_twice(name: str) -> Twice:
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


@click.command(context_settings=commands.SETTINGS)
@click.option("--images", type=NAMES, default=(), help="Only these, separated by commas; default: all CPU images.")
@commands.out_option
def main(images: tuple[str, ...], out: Path | None) -> None:
    """Build images twice with no cache and compare their layers; exits with 1 where they differ."""
    out = out or commands.default_path("images")
    started = utc_now()
    found: list[Twice] = []
    with commands.terminal() as listener:
        with engine.connect() as client:
            version = str(client.version()["Version"])
        for name in images or plan.all_images():
            one = build_twice(name)
            found.append(one)
            verdict = "the same layers" if one.same else "**different layers**"
            listener.show(f"{name}: {verdict}, {len(one.second)} of them, {one.seconds:.0f} s")
            made = Record(
                schema=Record.SCHEMA,
                started=started,
                finished=utc_now(),
                tool_version=__version__,
                engine=version,
                machine=fingerprint(()),
                images=tuple(found),
            )
            record.write(made, out)
        listener.show("", out)
    sys.exit(SAME if all(one.same for one in found) else DIFFERENT)


if __name__ == "__main__":
    main()
