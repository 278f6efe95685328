"""Two hundred cases in ten runs, on disk; `python -m tests.compare.many` says how long comparing them takes."""

import io
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from rich.console import Console

from suite.compare import sides
from suite.compare.comparison import compare_runs
from suite.compare.formats import WRITERS, terminal
from suite.compare.types import Comparison
from suite.record import files
from tests.compare.runs import with_case
from tests.records_builder import make_run

CASES = 200
RUNS = 10
CALLS = 60
"""Most calls of a window: what ResNet-50 has in one of a second."""


def write(folder: Path, *, cases: int = CASES, runs: int = RUNS) -> list[Path]:
    """Write so many runs of so many results each (five launches, three rounds); return their records."""
    found = []
    for number in range(runs):
        blocks = list(make_run(models=()).blocks)
        for threads in range(1, 9):
            record = make_run(seed=100 * number + threads, generations=5, rounds=3, max_calls=CALLS)
            blocks += with_case(record, threads=threads).blocks
            if 7 * len(blocks) >= cases:  # seven arms answer each
                break
        record = msgspec.structs.replace(record, id=f"run-{number}", blocks=tuple(blocks[: -(-cases // 7)]))
        (folder / record.id).mkdir()
        found.append(files.write(record, folder / record.id))
    return found


def once(records: list[Path]) -> tuple[Comparison, float]:
    """Compare the first half with the second, as the command does; return what came out, and the seconds it took."""
    begun = time.perf_counter()
    half = len(records) // 2
    found = compare_runs(sides.load_all(records[:half]), sides.load_all(records[half:]))
    terminal.show(found, Console(file=io.StringIO(), width=160))
    WRITERS["html"](found)
    return found, time.perf_counter() - begun


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        paths = write(Path(place))
        size = sum(path.stat().st_size for path in paths)
        result, seconds = once(paths)
        sys.stdout.write(f"{len(result.rows)} cases x {len(paths)} runs, {size / 1e6:.0f} MB: {seconds:.2f} s\n")
