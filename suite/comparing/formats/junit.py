"""A comparison for CI systems: JUnit XML, one test a case, in which nothing undecided looks like a success.

A regression, an unequal answer and a case that fails now are *failures*; a case that could not be compared is an
*error*; one that was compared and not decided is *skipped*. A ratio is never turned into a duration: times in JUnit
are those of tests.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias
from xml.sax.saxutils import quoteattr

import msgspec

from suite.comparing import words
from suite.comparing.types import Comparison, Drift, Movement, Outcome, Row, Verdict

_Kind: TypeAlias = Literal["failure", "error", "skipped", ""]
_NO_ANSWER = frozenset({Verdict.FAILED, Verdict.MISSING, Verdict.INCOMPARABLE, Verdict.UNEQUAL})


class _Test(msgspec.Struct, frozen=True):
    name: str
    group: str
    kind: _Kind
    label: str
    message: str


def write(comparison: Comparison) -> str:
    """Return the comparison as JUnit XML; the answer is the name of the whole, on the first line."""
    suites = {
        "speed and memory": [_of_row(row, comparison.replicate) for row in comparison.rows],
        "numerics": [_of_drift(drift) for drift in comparison.drifts],
    }
    everything = [test for tests in suites.values() for test in tests]
    lines = [f"<testsuites name={_text(words.first_line(comparison))} {_counts(everything)}>"]
    for name, tests in suites.items():
        lines.append(f"  <testsuite name={_text(name)} {_counts(tests)}>")
        lines += [_written(test) for test in tests]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _of_row(row: Row, replicate: str) -> _Test:
    said = f"{row.verdict}: new/old {words.ratio(row)}" if row.ratio is not None else row.verdict.value
    note = words.note(row, replicate)
    kind = _kind(row.outcome, compared=row.verdict not in _NO_ANSWER)
    return _Test(row.id, f"{row.case.model}.{row.metric}", kind, row.verdict, f"{said}; {note}" if note else said)


def _of_drift(drift: Drift) -> _Test:
    note = words.drifted(drift)
    kind = _kind(drift.outcome, compared=drift.movement is not Movement.UNKNOWN)
    message = f"{drift.movement}: {note}" if note else drift.movement.value
    return _Test(drift.id, f"{drift.model}.numerics", kind, drift.movement, message)


def _kind(outcome: Outcome, *, compared: bool) -> _Kind:
    if outcome == "worse":
        return "failure"
    if outcome == "undecided":
        return "skipped" if compared else "error"
    return ""


def _written(test: _Test) -> str:
    head = f"    <testcase name={_text(test.name)} classname={_text(test.group)}"
    if not test.kind:
        return f"{head}><system-out>{_text(test.message)[1:-1]}</system-out></testcase>"
    kind = "" if test.kind == "skipped" else f" type={_text(test.label)}"
    return f"{head}><{test.kind} message={_text(test.message)}{kind}/></testcase>"


def _counts(tests: Sequence[_Test]) -> str:
    counted = {
        kind: sum(test.kind == word for test in tests)
        for kind, word in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    return " ".join(f'{name}="{count}"' for name, count in {"tests": len(tests), **counted}.items())


def _text(text: str) -> str:
    """Quote a text for XML; control characters, which XML 1.0 cannot hold at all, were replaced."""
    return quoteattr(words.clean(text, 1000), {'"': "&quot;", "'": "&apos;"})
