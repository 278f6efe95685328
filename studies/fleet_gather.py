"""How long it takes to gather the records of a fleet, and how much memory: a committed record, made into many.

    python -m studies.fleet_gather reports/20261122-233334-standard-18e8 --nodes 1000

Every node has a copy of the record under a name of its own. The times in a copy are the record's, scaled by one of a
few seeded factors, so that nodes differ as noise would have it. Reading, checking and reducing a copy takes what it
takes for any record of its size. The copies were just written, so that the disk is not measured. Memory is the most
that this process held, and the most that each of those that read records did, together.
"""

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import click
import msgspec
import numpy as np

from studies import commands, record
from suite.errors import LevelfieldError
from suite.fleet import reading
from suite.fleet.formats import html
from suite.fleet.gather import gather, verdict
from suite.machine.fingerprint import fingerprint
from suite.record import files
from suite.report import units
from suite.schedule.outcomes import utc_now
from suite.version import __version__

FACTORS = 24
"""Different copies; the others repeat their costs under another id."""
NODE_SD = 0.003
"""Standard deviation of the logarithm of the factor."""
_TIMES = frozenset({"samples_ns", "window_ns"})


class Record(record.MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "fleet-gather"

    finished: str
    source: str
    """Run that the copies are of."""
    source_bytes: int
    nodes: int
    runs_each: int
    results: int
    """Cases of a node, each of one arm."""
    gather_s: float
    gather_cpu_s: float
    """Of all processes: two idle processors take at least half of it."""
    judge_s: float
    page_s: float
    page_bytes: int
    peak_bytes: int
    """Of all processes, while gathering and judging."""


def spread(source: bytes, folder: Path, nodes: int, runs: int) -> None:
    """Write the records of so many nodes.

    Parameters
    ----------
    source
        A record.
    folder
        Where a folder is made for each node.
    nodes, runs
        How many nodes, and runs of each.
    """
    plain = msgspec.json.decode(source)
    own = msgspec.json.encode(plain["id"])
    factors = np.exp(np.random.default_rng(1).normal(0, NODE_SD, FACTORS)).tolist()
    copies = [msgspec.json.encode(_scaled(plain, factor)) for factor in factors]
    for node in range(nodes):
        for run in range(runs):
            name = f"20261125-020000-standard-{node:04x}{run:x}"
            target = folder / f"node-{node:04}" / name
            target.mkdir(parents=True)
            content = copies[(node * runs + run) % FACTORS].replace(own, msgspec.json.encode(name), 1)
            (target / files.NAME).write_bytes(content)


def _scaled(value: Any, factor: float) -> Any:  # noqa: ANN401  (JSON)
    """Return a record with its times multiplied by a factor."""
    if isinstance(value, dict):
        return {key: _times(held, factor) if key in _TIMES else _scaled(held, factor) for key, held in value.items()}
    return [_scaled(held, factor) for held in value] if isinstance(value, list) else value


def _times(value: list[int] | int, factor: float) -> list[int] | int:
    return [round(each * factor) for each in value] if isinstance(value, list) else round(value * factor)


def peak_bytes() -> int:
    """Return the most memory that this process held, and that of each process that reads records."""
    own, largest = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return 1024 * (own + reading.PROCESSES * largest)


def cpu_s() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def measure(source: Path, folder: Path) -> dict[str, Any]:
    """Gather and judge a folder of records; return the fields of a `Record` that follow.

    Parameters
    ----------
    source
        The record that the others are copies of.
    folder
        The records.
    """
    began, began_cpu_s = time.perf_counter(), cpu_s()
    gathered = gather(folder)
    read, gather_cpu_s = time.perf_counter(), cpu_s() - began_cpu_s
    found = verdict(gathered, margin=0.02, level=0.01)
    judged = time.perf_counter()
    peak = peak_bytes()
    page = html.write(found)
    if gathered.notes:
        raise LevelfieldError(f"A copy was left out: {gathered.notes[0]}", fix="Report this as a defect.")
    return {
        "source": msgspec.json.decode(source.read_bytes())["id"],
        "source_bytes": source.stat().st_size,
        "nodes": len(gathered.nodes),
        "runs_each": gathered.records // len(gathered.nodes),
        "results": len(found.cells) // len(gathered.nodes),
        "gather_s": read - began,
        "gather_cpu_s": gather_cpu_s,
        "judge_s": judged - read,
        "page_s": time.perf_counter() - judged,
        "page_bytes": len(page.encode()),
        "peak_bytes": peak,
    }


@click.command(context_settings=commands.SETTINGS)
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option("--nodes", type=click.IntRange(2), default=1000, show_default=True)
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Of each node.")
@commands.out_option
def main(source: Path, nodes: int, runs: int, out: Path | None) -> None:
    """Make records of a fleet out of SOURCE, a run's folder, and measure how long gathering and judging them takes."""
    started = utc_now()
    file = files.file_of(source)
    with commands.terminal() as listener, tempfile.TemporaryDirectory() as folder:
        listener.say(f"Writing {nodes * runs} records of {units.size(file.stat().st_size)}.")
        spread(file.read_bytes(), Path(folder), nodes, runs)
        found = measure(file, Path(folder))
        made = Record(
            schema=Record.SCHEMA,
            started=started,
            finished=utc_now(),
            tool_version=__version__,
            machine=fingerprint(()),
            **found,
        )
        path = out or commands.default_path(Record.TRIAL)
        record.write(made, path)
        listener.show(
            f"{nodes * runs} records gathered in {made.gather_s:.1f} s ({made.gather_cpu_s:.1f} s of "
            f"processor time) and judged in {made.judge_s:.1f} s; "
            f"{units.size(made.peak_bytes)} at the most; page: {units.size(made.page_bytes)}, {made.page_s:.1f} s",
            path,
        )


if __name__ == "__main__":
    main()
