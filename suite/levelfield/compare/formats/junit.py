"""A comparison for CI systems: JUnit XML, one test a case, in which nothing undecided looks like a success.

A regression, an unequal answer and a case that fails now are *failures*; a case that could not be compared is an
*error*; one that was compared and not decided is *skipped*, and so is a setting that
changed and was not meant to. A ratio is never turned into a duration: times in JUnit
are those of tests.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.compare import phrases
from levelfield.compare.types import Comparison, Drift, Movement, Outcome, Row, Setting, Verdict

Kind: TypeAlias = Literal["failure", "error", "skipped", ""]
_NO_ANSWER = frozenset({Verdict.FAILED, Verdict.MISSING, Verdict.INCOMPARABLE, Verdict.UNEQUAL})


class Test(msgspec.Struct, frozen=True):
    """One test of a suite."""

    name: str
    group: str
    """Dotted, as a class is named."""
    kind: Kind
    """How it did not succeed; empty: it did."""
    label: str
    """Type of the failure or error."""
    message: str


def write(comparison: Comparison) -> str:
    """Return the comparison as JUnit XML; the answer is the name of the whole, on the first line."""
    suites = {
        **({"what else changed": [_of_setting(each) for each in comparison.settings]} if comparison.settings else {}),
        "speed and memory": [_of_row(row, comparison.replicate) for row in comparison.rows],
        "numerics": [_of_drift(drift) for drift in comparison.drifts],
    }
    return document(phrases.first_line(comparison), suites)


def document(name: str, suites: Mapping[str, Sequence[Test]]) -> str:
    """Return test suites as JUnit XML."""
    everything = [test for tests in suites.values() for test in tests]
    root = ET.Element("testsuites", {"name": _text(name), **_counts(everything)})
    for title, tests in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": _text(title), **_counts(tests)})
        for test in tests:
            case = ET.SubElement(suite, "testcase", name=_text(test.name), classname=_text(test.group))
            if test.kind:
                label = {} if test.kind == "skipped" else {"type": _text(test.label)}
                ET.SubElement(case, test.kind, {"message": _text(test.message), **label})
            else:
                ET.SubElement(case, "system-out").text = _text(test.message)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _of_setting(found: Setting) -> Test:
    kind: Kind = "skipped" if found.meant == "not meant" else ""
    message = f"{phrases.value(found.old)} → {phrases.value(found.new)}: {phrases.setting_note(found)}"
    return Test(f"{phrases.clean(found.where)}/{phrases.clean(found.name)}", "settings", kind, found.meant, message)


def _of_row(row: Row, replicate: str) -> Test:
    ratio = f"new/old {phrases.ratio(row.ratio)}" if row.ratio is not None else ""
    drift = f"after/before {phrases.ratio(row.drift)}" if row.drift is not None else ""
    figures = ", ".join(filter(None, (ratio, drift)))
    said = f"{row.verdict}: {figures}" if figures else row.verdict.value
    kind = _kind(row.outcome, compared=row.verdict not in _NO_ANSWER)
    message = "; ".join(filter(None, (said, phrases.note(row, replicate))))
    return Test(row.id, f"{row.case.model}.{row.metric}", kind, row.verdict, message)


def _of_drift(drift: Drift) -> Test:
    note = phrases.drifted(drift)
    kind = _kind(drift.outcome, compared=drift.movement is not Movement.UNKNOWN)
    message = f"{drift.movement}: {note}" if note else drift.movement.value
    return Test(drift.id, f"{drift.model}.numerics", kind, drift.movement, message)


def _kind(outcome: Outcome, *, compared: bool) -> Kind:
    if outcome == "worse":
        return "failure"
    if outcome == "undecided":
        return "skipped" if compared else "error"
    return ""


def _counts(tests: Sequence[Test]) -> dict[str, str]:
    found = Counter(test.kind for test in tests)
    counted = {"tests": len(tests), "failures": found["failure"], "errors": found["error"], "skipped": found["skipped"]}
    return {name: str(count) for name, count in counted.items()}


def _text(text: str) -> str:
    """Replace control characters, which XML 1.0 cannot hold at all."""
    return phrases.clean(text, 1000)
