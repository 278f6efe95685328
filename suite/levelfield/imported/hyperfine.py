"""hyperfine's `--export-json`: every timed run of a command is a process of its own.

References
----------
hyperfine, `src/benchmark/benchmark_result.rs`: `times` in seconds of wall-clock time, `exit_codes` beside them.
"""

from typing import Final

import msgspec

from levelfield.imported import decoding
from levelfield.imported.types import NO_DATE, Recorded, Result, samples
from levelfield.safety.tool_output import text

TOOL: Final = "hyperfine"
MARKS = (b'"exit_codes"',)
_UNKNOWN = ("the machine, the version of hyperfine and when it ran", "whether a shell was started with the command")


class _Result(msgspec.Struct):
    command: str
    times: list[float] | None = None
    exit_codes: list[int | None] = []
    parameters: dict[str, str | float] | None = None


class _Export(msgspec.Struct):
    results: list[_Result]


def parse(content: bytes) -> Recorded:
    """Read a file that hyperfine wrote with `--export-json`.

    Raises LevelfieldError: it is no such file.
    """
    found = decoding.decode(content, _Export, TOOL)
    return Recorded(
        tool=TOOL,
        version=NO_DATE,
        results=tuple(
            Result(
                text(result.command) or "a command without a name",
                tuple((sample,) for sample in samples(result.times or ())),
                failure="it ended with another exit code than 0" if any(result.exit_codes) else "",
            )
            for result in found.results
        ),
        unknown=_UNKNOWN,
    )
