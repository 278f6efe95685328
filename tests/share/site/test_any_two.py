"""Any two runs: the page holds every estimate of every run, short, and no more than it may."""

import hashlib

import pytest

from levelfield import analysis
from levelfield.analysis import summary
from levelfield.analysis.summary import Summary
from levelfield.share.site import pages
from tests.share.site.shelves import made


@pytest.fixture(scope="module")
def summaries() -> tuple[Summary, ...]:
    runs = [made(1), made(2, labels=("smoke",)), made(3, other=True)]
    return tuple(
        summary.summarise(
            one, analysis.analyse(one), record_sha256=hashlib.sha256(one.id.encode()).hexdigest(), record_bytes=1
        )
        for one in runs
    )


def test_every_estimate_is_there_newest_run_first(summaries: tuple[Summary, ...]) -> None:
    found = pages.any_two_data(
        summaries, {summaries[2].machine: "Another (machine 1)"}, {("a", "b"): "compare/a--b.html"}
    )
    assert [run.id for run in found.runs] == ["run-03-other", "run-02", "run-01"]
    assert found.runs[0].machine == "Another (machine 1)"
    assert found.runs[1].labels == ("smoke",)
    assert found.pages == {"a--b": "compare/a--b.html"}
    for run, one in zip(found.runs, reversed(summaries), strict=True):
        known = {result.id: result for result in one.results if result.estimate is not None}
        assert run.results.keys() == known.keys()
        for name, (unit, estimate, low, high) in run.results.items():
            assert unit is not None
            assert found.units[int(unit)] == known[name].unit
            assert estimate == pytest.approx(known[name].estimate, rel=1e-4)
            assert low == (None if known[name].low is None else pytest.approx(known[name].low, rel=1e-4))
            assert high == (None if known[name].high is None else pytest.approx(known[name].high, rel=1e-4))
