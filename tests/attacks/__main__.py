"""`nox -s fuzz`: 100,000 changed files for everything that reads a stranger's, each within its bounds."""

import argparse
import concurrent.futures
import datetime as dt
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from levelfield.paths import tool_sha256
from levelfield.record.files import write_atomically
from levelfield.version import __version__
from tests.attacks import fuzzing, guided, readers
from tests.attacks.fuzzing import Failure, Found
from tests.attacks.guided import Died, Part, Reached

CASES = 100_000
AT_ONCE = 2_500
"""Cases of one process: a new one goes on with the inputs that it found, so that nothing piles up."""


class OfReader(msgspec.Struct, frozen=True):
    """What came of a reader's cases."""

    cases: int
    accepted: int
    refused: int
    """In one sentence."""
    begun_with: int
    """Inputs of the committed corpus."""
    reached: Reached | None
    """At the end; None where its last process died."""


class Record(msgspec.Struct, frozen=True):
    """What a run of the fuzzer found."""

    format: int
    started: str
    seconds: float
    tool_version: str
    tool_sha256: str
    python: str
    atheris: str
    seed: int
    cases: int
    seconds_of_a_case: float
    bytes_of_a_case: int
    """Bounds of a case."""
    readers: dict[str, OfReader]
    slowest_s: float
    slowest: str
    """Reader of the slowest case."""
    grown_bytes: int
    failures: tuple[Failure, ...]


def main(words: Sequence[str]) -> int:
    """Run the cases, print what came of them, and write it down; return 1 where one failed."""
    asked = _asked(words)
    if asked.case is not None:
        return _one(asked.reader, asked.case.read_bytes())
    began, started = time.monotonic(), dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    keep = asked.keep or Path(tempfile.mkdtemp(prefix="levelfield-fuzz-failures-"))
    keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="levelfield-fuzz-corpora-") as corpora:
        parts = _parts(asked.cases, asked.seed, Path(corpora), keep)
        results = list(_side_by_side(parts, asked.processes))
    record = _record(asked, results, started, time.monotonic() - began)
    _print(record, keep)
    if asked.out is not None:
        write_atomically(asked.out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        print(f"Record: {asked.out}")
    return 1 if record.failures else 0


def _asked(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s fuzz --", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1, help="of libFuzzer and of the changes")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=None, help="file for the record")
    parser.add_argument("--keep", type=Path, default=None, help="folder for inputs that fail; default: a temporary one")
    parser.add_argument("--case", type=Path, default=None, help="give this file to a reader, and show its traceback")
    parser.add_argument("--reader", choices=readers.READERS, default="record", help="of --case")
    return parser.parse_args(words)


def _parts(cases: int, seed: int, corpora: Path, keep: Path) -> list[list[Part]]:
    """Return every reader's parts in their order, the readers that take longest first."""
    whole = sum(each.share for each in readers.READERS.values())
    parts = []
    for name, reader in sorted(readers.READERS.items(), key=lambda item: item[1].share):
        corpus = corpora / name
        corpus.mkdir()
        for number, content in enumerate(readers.seeds(name)):
            (corpus / f"seed-{number}").write_bytes(content)
        wanted = -(-cases * reader.share // whole)
        sizes = [min(AT_ONCE, wanted - start) for start in range(0, wanted, AT_ONCE)]
        parts.append([Part(name, size, seed + number, str(corpus), str(keep)) for number, size in enumerate(sizes)])
    return parts


Result = tuple[Part, tuple[Found, Reached] | Died]


def _side_by_side(parts: Sequence[Sequence[Part]], processes: int) -> Iterator[Result]:
    """Run the parts of a reader one after the other, and several readers side by side."""
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        waiting = [pool.submit(lambda some: [(part, guided.run(part)) for part in some], some) for some in parts]
        for future in concurrent.futures.as_completed(waiting):
            for part, result in future.result():
                failed = "died" if isinstance(result, Died) else f"{len(result[0].failures)} failed"
                print(f"{part.reader:10} {part.cases:6,} cases, {failed}", flush=True)
                yield part, result


def _record(asked: argparse.Namespace, results: Sequence[Result], started: str, seconds: float) -> Record:
    accepted: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    failures: list[Failure] = []
    reached: dict[str, Reached | None] = {}
    whole = []
    for part, result in results:
        if isinstance(result, Died):
            failures.append(Failure(part.reader, f"the process of its cases died: {result.said}", "", ""))
            reached[part.reader] = None
            continue
        found, reached[part.reader] = result
        accepted.update(found.accepted)
        refused.update(found.refused)
        failures += found.failures
        whole.append(found)
    slow = max(whole, key=lambda each: each.slowest_s)
    counted = Counter({name: sum(part.cases for part, _ in results if part.reader == name) for name in readers.READERS})
    return Record(
        format=2,
        started=started,
        seconds=seconds,
        tool_version=__version__,
        tool_sha256=tool_sha256(),
        python=platform.python_version(),
        atheris=version("atheris"),
        seed=asked.seed,
        cases=counted.total(),
        seconds_of_a_case=fuzzing.SECONDS,
        bytes_of_a_case=fuzzing.BYTES,
        readers={
            name: OfReader(counted[name], accepted[name], refused[name], len(readers.seeds(name)), reached[name])
            for name in readers.READERS
        },
        slowest_s=slow.slowest_s,
        slowest=slow.slowest,
        grown_bytes=max(each.grown_bytes for each in whole),
        failures=tuple(failures),
    )


def _print(record: Record, keep: Path) -> None:
    print(f"{record.cases:,} cases in {record.seconds:.0f} s, with seed {record.seed}.")
    for name, each in record.readers.items():
        grown = f"{each.reached.corpus:5,} inputs from {each.begun_with:2}" if each.reached else "its process died"
        print(f"  {name:10}  {each.accepted:7,} accepted  {each.refused:7,} refused in one sentence  {grown}")
    print(f"Slowest: {record.slowest}, {record.slowest_s:.1f} s of processor time.")
    print(f"Most memory: {record.grown_bytes / 1e6:.0f} MB more than before the first case.")
    kinds = Counter((each.reader, each.what.partition(":")[0], each.where) for each in record.failures)
    for (reader, what, where), count in kinds.most_common():
        first = next(each for each in record.failures if (each.reader, each.where) == (reader, where))
        again = f"`-- --reader {reader} --case {keep / fuzzing.kept_as(first)}`" if first.sha256 else "no input is kept"
        print(f"FAILED {count} times: {reader}, {what} in {where}; {again}: {first.what}")
    print("No case failed." if not record.failures else f"{len(record.failures)} cases failed.")


def _one(name: str, content: bytes) -> int:
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
