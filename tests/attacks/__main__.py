"""`python -m tests.attacks CASES FILE`: give changed files to every reader, and write the counts."""

import contextlib
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from levelfield.paths import tool_sha256
from levelfield.record.files import write_atomically
from tests.attacks import fuzzing, readers

MOST_KB = 500_000
"""By which a case may raise the most memory that the process has had."""


def main(count: int, out: Path) -> int:
    """Try numbered cases, the same in every run, to their number or an interrupt; return 1 where one failed."""
    cases: Counter[str] = Counter()
    failures: list[str] = []
    longest_s, began = 0.0, time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="levelfield-attacks-") as cache:
        os.environ["LEVELFIELD_CACHE"] = cache
        readers.numpy_is_ready()
        for number in range(1_000_000, 1_000_000 + count):  # those below are in the tests
            name, content = fuzzing.case(number)
            before_s, before_kb = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            failure = fuzzing.attempt(name, content, Path(cache))
            longest_s = max(longest_s, time.process_time() - before_s)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before_kb + MOST_KB:
                failure = failure or "It takes more memory than it may."
            cases[name] += 1
            if failure:
                failures.append(f"case {number}, {name}: {failure}")
                print(failures[-1], flush=True)
    record = {
        "tool_sha256": tool_sha256(),
        "python": sys.version.partition(" ")[0],
        "seconds": round(time.monotonic() - began),
        "longest_seconds": round(longest_s, 2),
        "cases": cases.total(),
        "readers": dict(sorted(cases.items())),
        "failures": failures,
    }
    write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    print(f"{cases.total():,} cases for {len(cases)} readers, of which {len(failures)} failed.")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
