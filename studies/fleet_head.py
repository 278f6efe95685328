"""What a node costs the head of a fleet, beyond the node's own run: processor time, memory, and bytes on the wire.

`python -m studies.fleet_head` runs `levelfield fleet run` on nodes of Ray on this machine, first with one node and
then with several that measure one after the other. The head is a process of its own, whose processor time and largest
resident memory the kernel counts (wait4(2)); what each node adds is the slope between the two. The time counts all that
the head does while a node measures, with Ray's own threads in it, and its verdict on the nodes in the end.

A smoke run has a small record. What a long one adds is the check of what came back, which is made here with the largest
record that is committed.
"""

import gc
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import ClassVar

import click
import msgspec

from studies import commands, record
from suite.errors import LevelfieldError
from suite.fleet.run import local, messages, results, store
from suite.fleet.run.images import Expected
from suite.fleet.run.messages import Measured
from suite.machine.fingerprint import fingerprint
from suite.record import files
from suite.schedule.outcomes import utc_now
from suite.version import __version__

LEAST, MOST = 1, 3
"""Nodes."""
PLAN = (
    "--profile",
    "smoke",
    "--models",
    "mlp",
    "--scenarios",
    "latency",
    "--backends",
    "onnxruntime",
    "--control",
    "none",
)


class HeadRun(msgspec.Struct, frozen=True):
    """One `fleet run`, as the kernel counted its process."""

    nodes: int
    processor_s: float
    largest_resident_bytes: int
    wall_s: float
    record_bytes: int
    """Of all records that came back."""


class Check(msgspec.Struct, frozen=True):
    """What it takes to check and keep one long record."""

    run: str
    record_bytes: int
    reply_bytes: int
    """Record and page, in one message."""
    processor_s: float
    """Median of several."""
    largest_allocated_bytes: int
    """By Python at the same time, the message among it; all of it is freed again."""


class Record(record.MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "fleet-head"

    finished: str
    ray: str
    runs: tuple[HeadRun, ...]
    check: Check

    @property
    def processor_s_each(self) -> float:
        """What every further node adds."""
        few, many = self.runs[0], self.runs[-1]
        return (many.processor_s - few.processor_s) / (many.nodes - few.nodes)

    @property
    def resident_bytes_each(self) -> float:
        """What every further node adds to the largest resident memory."""
        few, many = self.runs[0], self.runs[-1]
        return (many.largest_resident_bytes - few.largest_resident_bytes) / (many.nodes - few.nodes)


def head_run(address: str, nodes: int, folder: Path) -> HeadRun:
    """Run a fleet in a process of its own, and count what it took.

    Parameters
    ----------
    address
        Of the cluster.
    nodes
        That the cluster has.
    folder
        For the reports.

    Raises
    ------
    LevelfieldError
        A node has no run.
    """
    name = f"head-{nodes}"
    words = ("fleet", "run", "--on", address, "--name", name, "--at-once", "1", "--launcher", "venv", *PLAN)
    began = time.monotonic()
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "suite.cli", *words, "--reports", str(folder)], stdout=log, stderr=log
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    state = store.load(name, folder)
    records = list(store.folder(name, folder).glob(f"*/*/{files.NAME}"))
    if len(records) != nodes or len(state.nodes) != nodes:
        raise LevelfieldError(
            f"Of {nodes} nodes, {len(records)} have a run: {(folder / f'{name}.log').read_text()[-800:]}"
        )
    return HeadRun(
        nodes=nodes,
        processor_s=usage.ru_utime + usage.ru_stime,
        largest_resident_bytes=usage.ru_maxrss * 1024,  # getrusage(2): kilobytes
        wall_s=time.monotonic() - began,
        record_bytes=sum(path.stat().st_size for path in records),
    )


def check(run: Path, folder: Path, *, times: int = 3) -> Check:
    """Check and keep a reply that holds a committed run.

    Parameters
    ----------
    run
        Its folder.
    folder
        Where it is kept.
    times
        How often.
    """
    recorded = files.read(run)
    sent = {name: (run / name).read_bytes() for name in results.FILES if (run / name).is_file()}
    asked = results.Asked(
        node="node-01",
        seed=recorded.settings.seed,
        launcher=recorded.settings.launcher,
        tool_sha256=recorded.tool_sha256,
        images={f"{each.name} {each.variant}": Expected(each.lock_sha256) for each in recorded.images},
    )
    reply = messages.encode(Measured(recorded.id, sent))
    del recorded, sent
    seconds = [_kept(reply, asked, folder) for _ in range(times)]
    gc.collect()
    tracemalloc.start()
    _kept(bytearray(reply), asked, folder)
    _, largest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Check(
        run=run.name,
        record_bytes=(run / files.NAME).stat().st_size,
        reply_bytes=len(reply),
        processor_s=sorted(seconds)[times // 2],
        largest_allocated_bytes=largest,
    )


def _kept(reply: bytes | bytearray, asked: results.Asked, folder: Path) -> float:
    began = time.process_time()
    measured = messages.reply_of(bytes(reply))
    if not isinstance(measured, Measured):
        raise LevelfieldError("The committed run is no reply.")
    results.keep(measured, asked, folder, ())
    return time.process_time() - began


def largest_record(reports: Path) -> Path:
    """Return the folder of the largest record under a folder of reports."""
    return max(files.runs_in(reports), key=lambda folder: (folder / files.NAME).stat().st_size)


def markdown(made: Record) -> str:
    """Return the findings as a table."""
    few, many = made.runs[0], made.runs[-1]
    return (
        f"# What a node costs the head of a fleet\n\nRay {made.ray}; {few.nodes} and {many.nodes} nodes on one "
        "machine, which measured one after the other.\n\n"
        "| | |\n|---|---|\n"
        f"| processor time of the head, each further node | {made.processor_s_each:.2f} s |\n"
        f"| largest resident memory of the head, each further node | {made.resident_bytes_each / 1e6:.1f} MB |\n"
        f"| processor time of the head with {few.nodes} node | {few.processor_s:.2f} s |\n"
        f"| a record of {made.check.record_bytes / 1e6:.1f} MB: processor time to check and keep it | "
        f"{made.check.processor_s:.2f} s |\n"
        f"| a record of {made.check.record_bytes / 1e6:.1f} MB: most memory at a time, which is freed again | "
        f"{made.check.largest_allocated_bytes / 1e6:.0f} MB |\n"
        f"| a record of {made.check.record_bytes / 1e6:.1f} MB: bytes that travel beside it, its page among them | "
        f"{(made.check.reply_bytes - made.check.record_bytes) / 1e6:.1f} MB |\n"
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--most", type=click.IntRange(2, 16), default=MOST, show_default=True, help="Nodes of the second run.")
@click.option("--reports", type=click.Path(path_type=Path), default=Path("reports"), help="Folder of committed runs.")
@commands.out_option
def main(most: int, reports: Path, out: Path | None) -> None:
    """Measure what a node costs the head of a fleet: some minutes, with Ray's own nodes on this machine."""
    started = utc_now()
    out = out or commands.default_path("fleet-head")
    with commands.terminal() as listener, tempfile.TemporaryDirectory(prefix="lf-") as name:
        runs = []
        for nodes in (LEAST, most):
            listener.say(f"{nodes} nodes")
            with local.surroundings({"RAY_USAGE_STATS_ENABLED": "0"}), local.nodes(nodes) as address:
                runs.append(head_run(address, nodes, Path(name)))
        found = Record(
            schema=Record.SCHEMA,
            started=started,
            finished=utc_now(),
            tool_version=__version__,
            machine=fingerprint(()),
            ray=importlib.metadata.version("ray"),
            runs=tuple(runs),
            check=check(largest_record(reports), Path(name)),
        )
        record.write(found, out, markdown(found))
        listener.show(markdown(found), out)


if __name__ == "__main__":
    main()
