"""`python -m tests.attacks SECONDS FILE`: give changed files to every reader for so long, and write the counts."""

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from levelfield.paths import tool_sha256
from levelfield.record.files import write_atomically
from tests.attacks import fuzzing, readers


def main(seconds: float, out: Path) -> int:
    """Try numbered cases, the same in every run, until the time is over; return 1 where one failed."""
    cases: Counter[str] = Counter()
    failures: list[str] = []
    number = 1_000_000  # those below are in the tests
    with tempfile.TemporaryDirectory(prefix="levelfield-attacks-") as cache:
        os.environ["LEVELFIELD_CACHE"] = cache
        readers.numpy_is_ready()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            name, content = fuzzing.case(number)
            failure = fuzzing.attempt(name, content, Path(cache))
            cases[name] += 1
            failures += [f"case {number}, {name}: {failure}"] if failure else []
            number += 1
    record = {"tool_sha256": tool_sha256(), "cases": cases.total(), "readers": dict(cases), "failures": failures}
    write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    print(f"{cases.total():,} cases for {len(cases)} readers, of which {len(failures)} failed.", *failures, sep="\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2])))
