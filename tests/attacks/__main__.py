"""`python -m tests.attacks CASES FILE`: give changed files to every reader, and write the counts.

From Python 3.12 on a case that reaches a line of the tool that no case had reached is changed further.
"""

import contextlib
import os
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec

from levelfield.paths import tool_sha256
from levelfield.record.files import write_atomically
from tests.attacks import fuzzing, readers

MOST_KB = 500_000
"""By which a case may raise the most memory that the process has had."""


class Lines:
    """Lines of the tool and its plug-ins that were reached for the first time."""

    def __init__(self) -> None:
        self.total = self._told = 0
        self._monitoring: Any = getattr(sys, "monitoring", None)
        if self._monitoring is not None:
            tool, event = self._monitoring.COVERAGE_ID, self._monitoring.events.LINE
            self._monitoring.use_tool_id(tool, "attacks")
            self._monitoring.register_callback(tool, event, self._reached)
            self._monitoring.set_events(tool, event)

    def _reached(self, code: CodeType, line: int) -> object:
        del line
        self.total += f"{os.sep}levelfield" in code.co_filename
        return self._monitoring.DISABLE

    def any_new(self) -> bool:
        """Whether there are some since this was last asked."""
        told, self._told = self._told, self.total
        return self.total > told


def main(count: int, out: Path) -> int:
    """Try numbered cases, the same in every run, to their number or an interrupt; return 1 where one failed."""
    cases: Counter[str] = Counter()
    failures: list[str] = []
    found: dict[str, list[bytes]] = defaultdict(list)
    longest_s, began, lines = 0.0, time.monotonic(), Lines()
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="levelfield-attacks-") as cache:
        os.environ["LEVELFIELD_CACHE"] = cache
        readers.numpy_is_ready()
        for name in readers.READERS:
            for content in readers.seeds(name):
                fuzzing.attempt(name, content, Path(cache))
        lines.any_new()
        for number in range(1_000_000, 1_000_000 + count):  # those below are in the tests
            name, content = fuzzing.case(number, found)
            before_s, before_kb = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            failure = fuzzing.attempt(name, content, Path(cache))
            longest_s = max(longest_s, time.process_time() - before_s)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before_kb + MOST_KB:
                failure = failure or "It takes more memory than it may."
            cases[name] += 1
            if lines.any_new():
                found[name].append(content)
            if failure:
                failures.append(f"case {number}, {name}: {failure}")
                print(failures[-1], flush=True)
    record = {
        "tool_sha256": tool_sha256(), "python": sys.version.partition(" ")[0],
        "seconds": round(time.monotonic() - began), "longest_seconds": round(longest_s, 2), "cases": cases.total(),
        "readers": dict(sorted(cases.items())), "lines": lines.total,
        "found": {name: len(found[name]) for name in sorted(cases)}, "failures": failures,
    }  # fmt: skip
    write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    print(f"{cases.total():,} cases for {len(cases)} readers, of which {len(failures)} failed.")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
