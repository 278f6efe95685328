"""How long a thousand runs take: `python -m tests.history.measure`, on a quiet machine. No test: figures for people."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from suite.history import folders, queries, summary
from suite.history.store import FILE, Store
from suite.history.trend import trend
from suite.record import files
from tests.history.many import LATENCY, name, summaries, write_run
from tests.records_builder import make_run

RUNS = 1000


@contextmanager
def timed(what: str) -> Iterator[None]:
    began, used = time.perf_counter(), time.process_time()
    yield
    print(f"{what}: {time.perf_counter() - began:.2f} s ({time.process_time() - used:.2f} s of processor time)")


def measure(place: Path) -> None:
    """Lay out full runs (7 backends, 3 models, 4 scenarios: 84 results each), import them and ask."""
    template = write_run(make_run(), place / "template")
    record = place / "template" / files.NAME
    reports = place / "reports"
    for one in summaries(template, RUNS, level=lambda day: 1.13 if day >= 700 else 1.0):
        folder = reports / one.id
        folder.mkdir(parents=True)
        os.link(record, folder / files.NAME)  # the size is what is asked of it
        (folder / summary.NAME).write_bytes(msgspec.json.encode(one))
    size = (reports / name(0) / summary.NAME).stat().st_size
    print(
        f"{RUNS} runs of {len(template.results)} results, records of {template.record_bytes / 1e6:.1f} MB, "
        f"summaries of {size / 1e3:.0f} kB"
    )
    with timed("importing them"):
        store = Store(f"sqlite:///{reports / FILE}")
        outcome = folders.enter_new(store, reports, print)
    assert outcome.entered == RUNS
    with timed("one trend, with what changed"):
        (found,) = queries.series(store, queries.matching(LATENCY, queries.results(store)), labelled=False)
        (change,) = trend(found, margin=0.02).changes
        queries.environment_differences(store, found.points[change.before], found.points[change.at], found)
    store.close()
    print(f"the store takes {(reports / FILE).stat().st_size / 1e6:.1f} MB")
    command = [sys.executable, "-m", "suite.cli", "history", LATENCY, "--reports", str(reports)]
    with timed("the whole command, interpreter and imports included"):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with timed(f"hashing {RUNS} records, as a rebuild does"):
        for _ in range(RUNS):
            summary.digest(record)
    with timed("analysing one record that has no summary"):
        summary.from_record(place / "template")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder))
