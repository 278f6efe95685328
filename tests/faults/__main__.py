"""`nox -s faults`: every fault at every event of a small run, and what it cost. Twenty minutes or so, as root.

It sets the machine's clock back by an hour for some seconds, and cuts a network of its own.
"""

import argparse
import datetime as dt
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from levelfield.paths import tool_sha256
from levelfield.record.files import write_atomically
from levelfield.version import __version__
from tests.faults.matrix import FAULTS, matrix
from tests.faults.place import Result


class Repeated(msgspec.Struct, frozen=True):
    """Faults that were done again: their results stand in the place of those before."""

    fault: str
    started: str
    tool_sha256: str
    why: str


class Record(msgspec.Struct, frozen=True):
    """What a run of the whole matrix found."""

    format: int
    started: str
    seconds: float
    tool_version: str
    tool_sha256: str
    results: tuple[Result, ...]
    repeated: tuple[Repeated, ...] = ()
    """What was done again after the rest."""


def main(words: Sequence[str]) -> int:
    """Do every fault, print the matrix, and write it down; return 1 where a fault cost something."""
    parser = argparse.ArgumentParser(prog="nox -s faults --", description=__doc__)
    parser.add_argument("--out", type=Path, default=None, help="file for the record; the matrix goes beside it")
    parser.add_argument("--only", choices=FAULTS, action="append", help="do only these, and put them into the record")
    parser.add_argument("--why", default="", help="with --only: why they are done again; the record keeps it")
    asked = parser.parse_args(words)
    if asked.only and asked.out is None:
        parser.error("--only needs the --out of a record that is there.")
    before = msgspec.json.decode(asked.out.read_bytes(), type=Record) if asked.only else None
    began, started = time.monotonic(), dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    results = []
    for result in matrix(asked.only or FAULTS):
        results.append(result)
        print(f"{result.fault}, {result.at}: {'holds' if result.holds else describe(result)}", flush=True)
    record = Record(1, started, time.monotonic() - began, __version__, tool_sha256(), tuple(results))
    if before is not None:
        record = repeated(before, record, asked.why)
    print(table(record.results))
    if asked.out is not None:
        write_atomically(asked.out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        write_atomically(asked.out.with_suffix(".md"), table(record.results).encode())
        print(f"Record: {asked.out}")
    return 0 if all(result.holds for result in record.results) else 1


def repeated(before: Record, again: Record, why: str) -> Record:
    """Return a record with the results of some faults replaced by newer ones."""
    newer = {fault: [each for each in again.results if each.fault == fault] for fault in _faults(again.results)}
    results: list[Result] = []
    for fault in _faults((*before.results, *again.results)):
        results += newer.get(fault) or [each for each in before.results if each.fault == fault]
    repeats = (Repeated(fault, again.started, again.tool_sha256, why) for fault in newer)
    return msgspec.structs.replace(before, results=tuple(results), repeated=(*before.repeated, *repeats))


def _faults(results: Iterable[Result]) -> list[str]:
    return list(dict.fromkeys(each.fault for each in results))


def describe(result: Result) -> str:
    """Say what a fault cost."""
    return (
        f"{result.lost} windows lost, {result.left} containers left; {'; '.join(result.differences) or 'no difference'}"
    )


def table(results: Iterable[Result]) -> str:
    """Return the matrix in Markdown: one row for each fault, over the events at which it struck."""
    lines = [
        "| fault | struck | windows kept | measured again | lost | containers left | runs that differ | it said |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for fault, group in groupby(results, key=lambda each: each.fault):
        of = list(group)
        said = next((each.said for each in reversed(of) if each.said), "")
        cells = (
            fault,
            len(of),
            *(sum(getattr(each, name) for each in of) for name in ("kept", "again", "lost", "left")),
            sum(bool(each.differences) for each in of),
            said.replace("|", "\\|"),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
