"""A file of any of the tools: which one wrote it is seen from its content."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.imported import google_benchmark, hyperfine, loadgen, optimum_benchmark, pyperf, pytest_benchmark
from levelfield.imported.types import Recorded
from levelfield.safety import untrusted

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is read."""
MAX_VALUES = 5_000_000
"""Most values that a file may have."""
_PARSERS: tuple[tuple[tuple[bytes, ...], Callable[[bytes], Recorded]], ...] = (
    (pyperf.MARKS, pyperf.parse),
    (google_benchmark.MARKS, google_benchmark.parse),
    (pytest_benchmark.MARKS, pytest_benchmark.parse),
    (hyperfine.MARKS, hyperfine.parse),
    (loadgen.MARKS, loadgen.parse),
    (optimum_benchmark.MARKS, optimum_benchmark.parse),
)
READ = (
    "pyperf, hyperfine (--export-json), Google Benchmark (JSON), pytest-benchmark (--benchmark-json), MLPerf LoadGen "
    "(mlperf_log_summary.txt), optimum-benchmark (benchmark_report.json)"
)
"""What is read, for messages."""


def read(path: Path) -> tuple[Recorded, str]:
    """Read a file.

    Returns SHA-256 of it. Raises LevelfieldError: it cannot be read, is longer than `MAX_BYTES`, is of none of the
    tools or damaged, or holds no result.
    """
    try:
        content = untrusted.read_plain(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(
            f"{path} cannot be read: {error.strerror or error}.", fix=f"Give a file of {READ}."
        ) from error
    return parse(content, path.name), hashlib.sha256(content).hexdigest()


def parse(content: bytes, name: str) -> Recorded:
    """Read the content of a file of whichever tool it is of.

    Raises LevelfieldError: it is of none of the tools or damaged, holds more than `MAX_VALUES` values, or no result.
    """
    parser = next((parser for marks, parser in _PARSERS if any(mark in content for mark in marks)), None)
    if parser is None:
        raise LevelfieldError(f"{name} is of no tool whose files are read.", fix=f"Read are files of {READ}.")
    if content.count(b",") >= MAX_VALUES:
        raise LevelfieldError(f"{name} holds more than {MAX_VALUES:,} values.", fix="Record fewer results at once.")
    found = parser(content)
    if not found.results:
        why = f": {'; '.join(found.left_out[:3])}" if found.left_out else ""
        raise LevelfieldError(f"{name} of {found.tool} holds no result that can be taken{why}.", fix="Record it again.")
    return found
