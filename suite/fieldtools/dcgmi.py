"""Results of `dcgmi diag --json`: DCGM 2 and 3 describe them by GPU numbers, DCGM 4 by entities.

References
----------
NVIDIA DCGM, `nvvs/src/JsonOutput.cpp` (3.x) and `nvvs/include/JsonResult.hpp` (3.x and 4.x): the fields of the output.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from suite.fieldtools.values import refused, text
from suite.record.schema import Absent, Fact, FieldOutput, FieldReading

TOOL: Final = "dcgmi diag"
MARKS = (b'"DCGM Diagnostic"', b'"DCGM GPU Diagnostic"')
"""What such output holds: since DCGM 4, and before."""
_STATUSES = {"skipped": "skip", "passed": "pass", "failed": "fail", "warning": "warn", "notrun": "not run"}
"""Other words for one status."""


class _Warning(msgspec.Struct):
    warning: str = ""


class _Result(msgspec.Struct):
    status: str = ""
    gpu_ids: str | int = ""
    entity_group: str = "GPU"
    entity_id: int | None = None
    warnings: list[str | _Warning] | str = []


class _Test(msgspec.Struct):
    name: str
    results: list[_Result | None] | None = None
    test_summary: _Result | None = None


class _Category(msgspec.Struct):
    category: str = ""
    tests: list[_Test | None] | None = None


class _Diagnostic(msgspec.Struct):
    test_categories: list[_Category | None] | None = None
    version: str = ""
    driver: str = msgspec.field(name="Driver Version Detected", default="")
    runtime_error: str = ""


class _Metadata(msgspec.Struct):
    version: str = ""
    driver: str = msgspec.field(name="Driver Version Detected", default="")


class _Output(msgspec.Struct):
    newer: _Diagnostic | None = msgspec.field(name="DCGM Diagnostic", default=None)
    older: _Diagnostic | None = msgspec.field(name="DCGM GPU Diagnostic", default=None)
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def parse(content: bytes) -> FieldOutput:
    """Read the output of `dcgmi diag -r LEVEL --json`.

    Parameters
    ----------
    content
        The output; text before and after the JSON is skipped, since dcgmi prints some there.

    Returns
    -------
    FieldOutput
        A reading for each test and each GPU or group of GPUs: `pass`, `fail`, `warn`, `skip` or `not run`, with the
        warnings as its note.

    Raises
    ------
    LevelfieldError
        It is no such output, the diagnostic did not run, or it holds no test.
    """
    try:
        found = msgspec.json.decode(content[content.find(b"{") : content.rfind(b"}") + 1], type=_Output)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise refused(TOOL, str(error)) from error
    diagnostic = found.newer or found.older
    if diagnostic is None:
        raise refused(TOOL, "it holds no diagnostic")
    if diagnostic.runtime_error:
        raise refused(TOOL, f"the diagnostic did not run ({diagnostic.runtime_error})")
    readings = tuple(_readings(diagnostic))
    if not readings:
        raise refused(TOOL, "it holds no test")
    version, driver = found.metadata.version or diagnostic.version, found.metadata.driver or diagnostic.driver
    facts: dict[str, Fact] = {"driver": text(driver) or Absent("this output does not say")}
    return FieldOutput(
        tool=TOOL,
        version=text(version) or Absent("this output does not say"),
        sha256=hashlib.sha256(content).hexdigest(),
        facts=facts,
        readings=readings,
    )


def _readings(diagnostic: _Diagnostic) -> Iterator[FieldReading]:
    for category in filter(None, diagnostic.test_categories or ()):
        for test in filter(None, category.tests or ()):
            measure = text(f"{category.category}: {test.name}" if category.category else test.name)
            # A summary follows from the results, where there are any.
            for result in filter(None, test.results or [test.test_summary]):
                yield FieldReading(measure, _place(result), _status(result.status), note=_note(result))


def _place(result: _Result) -> str:
    numbers = result.gpu_ids if result.entity_id is None else result.entity_id
    return "all" if numbers == "" else text(f"{result.entity_group} {numbers}")


def _status(status: str) -> str | Absent:
    word = text(status).lower()
    return _STATUSES.get(word.replace(" ", ""), word) or Absent("this output does not say")


def _note(result: _Result) -> str:
    said = [result.warnings] if isinstance(result.warnings, str) else result.warnings
    return text(" ".join(each if isinstance(each, str) else each.warning for each in said))
