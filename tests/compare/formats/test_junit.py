"""The comparison as JUnit XML."""

from xml.etree import ElementTree as ET

from levelfield.compare.comparison import compare_runs
from levelfield.compare.formats import junit
from tests.compare.formats.samples import upgrade
from tests.compare.runs import reduced, run


def test_junit_has_no_success_that_is_none() -> None:
    tree = ET.fromstring(junit.write(upgrade()))
    cases = list(tree.iter("testcase"))
    assert len(cases) == len(upgrade().rows) + len(upgrade().drifts) == int(tree.attrib["tests"])
    kinds = {case.attrib["name"]: [child.tag for child in case] for case in cases}
    for row in upgrade().rows:
        (kind,) = kinds[row.id]
        assert (
            kind
            == {"worse": "failure", "undecided": "skipped", "aside": "system-out", "fine": "system-out"}[row.outcome]
        )
    worse = sum(row.outcome == "worse" for row in upgrade().rows)
    assert int(tree.attrib["failures"]) == worse + sum(drift.outcome == "worse" for drift in upgrade().drifts) > worse
    missing = compare_runs([reduced(run("a"))], [reduced(run("b", backends=["jax"]))])
    tree = ET.fromstring(junit.write(missing))
    assert tree.attrib["errors"] == "1"
