"""`nox -s fuzz`: 100,000 changed files for everything that reads a stranger's, each within its bounds."""

import argparse
import concurrent.futures
import concurrent.futures.process
import datetime as dt
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from suite import __version__
from suite.beginning import tool_sha256
from suite.records.files import write_atomically
from tests.attacks import fuzzing, readers
from tests.attacks.fuzzing import Failure, Found

CASES = 100_000
AT_ONCE = 500
"""Cases of one process: a new one follows, so that nothing piles up."""


class Record(msgspec.Struct, frozen=True):
    """What a run of the fuzzer found."""

    format: int
    started: str
    seconds: float
    tool_version: str
    tool_sha256: str
    python: str
    first: int
    cases: int
    seconds_of_a_case: float
    bytes_of_a_case: int
    """Bounds of a case."""
    accepted: dict[str, int]
    refused: dict[str, int]
    """By reader."""
    slowest_s: float
    slowest: int
    grown_bytes: int
    failures: tuple[Failure, ...]


def main(words: Sequence[str]) -> int:
    """Run the cases, print what came of them, and write it down; return 1 where one failed."""
    asked = _asked(words)
    if asked.case is not None:
        return _one(asked.case)
    began, started = time.monotonic(), dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    parts = _parts(asked.first, asked.cases)
    found = list(_in_processes(parts, asked.processes))
    record = _record(asked, found, started, time.monotonic() - began)
    _print(record)
    if asked.out is not None:
        write_atomically(asked.out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        print(f"Record: {asked.out}")
    return 1 if record.failures else 0


def _asked(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s fuzz --", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, default=None, help="run one case alone, and show its traceback")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=None, help="file for the record")
    return parser.parse_args(words)


def _parts(first: int, cases: int) -> list[range]:
    end = first + cases
    return [range(start, min(start + AT_ONCE, end)) for start in range(first, end, AT_ONCE)]


def _in_processes(parts: Sequence[range], processes: int) -> Iterator[Found]:
    """Run parts side by side; one whose process died is a failure of its own."""
    fresh = multiprocessing.get_context("spawn")
    done = failed = 0
    for start in range(0, len(parts), processes):
        some = parts[start : start + processes]
        with concurrent.futures.ProcessPoolExecutor(len(some), mp_context=fresh) as pool:
            for part, future in [(part, pool.submit(fuzzing.part, part)) for part in some]:
                found = _result(part, future)
                done += len(part)
                failed += len(found.failures)
                yield found
        print(f"\r{done:,} cases, {failed:,} failed", end="", flush=True)
    print()


def _result(part: range, future: concurrent.futures.Future[Found]) -> Found:
    try:
        return future.result()
    except concurrent.futures.process.BrokenProcessPool:
        died = Failure(part.start, "", "the process of these cases died, or one of them hung", "")
        return Found({}, {}, (died,), 0.0, -1, 0)


def _record(asked: argparse.Namespace, found: Sequence[Found], started: str, seconds: float) -> Record:
    accepted: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for each in found:
        accepted.update(each.accepted)
        refused.update(each.refused)
    slow = max(found, key=lambda each: each.slowest_s)
    return Record(
        format=1,
        started=started,
        seconds=seconds,
        tool_version=__version__,
        tool_sha256=tool_sha256(),
        python=platform.python_version(),
        first=asked.first,
        cases=asked.cases,
        seconds_of_a_case=fuzzing.SECONDS,
        bytes_of_a_case=fuzzing.BYTES,
        accepted={name: accepted[name] for name in readers.READERS},
        refused={name: refused[name] for name in readers.READERS},
        slowest_s=slow.slowest_s,
        slowest=slow.slowest,
        grown_bytes=max(each.grown_bytes for each in found),
        failures=tuple(failure for each in found for failure in each.failures),
    )


def _print(record: Record) -> None:
    print(f"{record.cases:,} cases in {record.seconds:.0f} s, from number {record.first}.")
    for name in readers.READERS:
        print(f"  {name:10}  {record.accepted[name]:7,} accepted  {record.refused[name]:7,} refused in one sentence")
    print(f"Slowest: number {record.slowest}, {record.slowest_s:.1f} s of processor time.")
    print(f"Most memory: {record.grown_bytes / 1e6:.0f} MB more than before the first case.")
    kinds = Counter((each.reader, each.what.partition(":")[0], each.where) for each in record.failures)
    for (reader, what, where), count in kinds.most_common():
        first = next(each for each in record.failures if (each.reader, each.where) == (reader, where))
        print(f"FAILED {count} times: {reader}, {what} in {where}; `-- --case {first.case}`: {first.what}")
    print("No case failed." if not record.failures else f"{len(record.failures)} cases failed.")


def _one(number: int) -> int:
    name, content = fuzzing.case(number)
    print(f"{name}: {len(content):,} bytes")
    with tempfile.TemporaryDirectory(prefix="levelfield-fuzz-") as place:
        os.environ["LEVELFIELD_CACHE"] = place
        folder = Path(place) / "folder"
        folder.mkdir()
        try:
            readers.READERS[name].read(content, folder)
        except readers.REFUSALS as error:
            print(f"Refused: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
