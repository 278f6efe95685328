"""What the record says of each tool."""

import pytest

from studies.peers.findings import apart, called, ratios, spread, supervisors
from studies.tests.peers.made import RATIO, TRIAL, cell


def test_each_tools_ratio_is_found_in_spite_of_drift() -> None:
    found = {finding.contrast.first: finding.mean_ratio for _, finding in ratios(TRIAL)}
    for tool, ratio in RATIO.items():
        assert found[tool].value == pytest.approx(ratio)
        low = found[tool].low
        assert low is not None
        assert low <= found[tool].value


def test_of_a_few_launches_there_is_no_interval() -> None:
    assert cell("pyperf", launches=4).findings[0].mean_ratio.low is None


def test_supervisors_are_those_of_cells_and_decisions() -> None:
    found = supervisors(TRIAL)
    assert found["optimum-benchmark"] == (0.5, 0.5, 0.5, 6)
    assert found["levelfield ab"].values == 2
    assert "benchmark_app" not in found


def test_errors_are_counted_by_the_truth() -> None:
    found = {(each.tool, each.truth): each for each in called(TRIAL.decisions)}
    wrong = found["pyperf compare_to", "same"]
    assert (wrong.share.successes, wrong.share.trials) == (1, 2)
    assert wrong.answers == {"slower": 1, "not significant": 1}
    assert found["levelfield ab", "same"].share.successes == 0
    assert found["levelfield ab", "slower"].share.successes == 0
    assert found["levelfield ab", "slower"].apart is None
    assert found["pyperf compare_to", "slower"].share.successes == 1


def test_pairs_share_no_launch() -> None:
    found = apart(cell("pyperf"), "pyperf")
    assert found is not None
    assert found.values == 3
    assert found.most == pytest.approx(1 / 0.9 - 1)
    assert found.least == pytest.approx(1 - 0.95 / 1.05)
    assert apart(cell("pyperf", launches=1), "pyperf") is None


def test_of_nothing_there_is_no_spread() -> None:
    assert spread([]) is None
