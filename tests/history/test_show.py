"""The history in words: what a trend says."""

import msgspec
import pytest

from levelfield.history.show import answer, rule, sparkline
from levelfield.history.trend import Change, Trend
from tests.history.test_trend import series

SERIES = series([1e6] * 6)


@pytest.mark.parametrize(
    ("unit", "ratio", "says"),
    [("ns", 1.13, "slower"), ("ns", 0.87, "faster"), ("items/s", 1.13, "faster"), ("bytes", 1.13, "larger")],
)
def test_a_change_is_said_in_the_words_of_its_unit(unit: str, ratio: float, says: str) -> None:
    found = Trend((Change(at=4, before=3, ratio=ratio, runs=2),), None)
    assert (
        answer(msgspec.structs.replace(SERIES, unit=unit), found)
        == f"13\N{NO-BREAK SPACE}% {says} since 2026-01-05 (2 runs)."
    )


def test_one_run_at_a_new_level_is_to_be_confirmed() -> None:
    found = Trend((Change(2, 1, 1.1, 3), Change(5, 4, 1.13, 1)), None)
    assert answer(SERIES, found).endswith("(one run so far: measure again to confirm); 1 earlier change.")


def test_without_a_change_there_is_one_level_a_drift_or_a_reason() -> None:
    assert answer(SERIES, Trend((), None)) == "one level over 6 runs."
    assert (
        answer(SERIES, Trend((), 1.2))
        == "it drifts, 20\N{NO-BREAK SPACE}% slower over 6 runs, and no single run is to blame."
    )
    assert answer(SERIES, Trend((), None, "too few runs")) == "too few runs."


def test_values_become_blocks() -> None:
    assert sparkline([1.0, 2.0, 3.0])[0] < sparkline([1.0, 2.0, 3.0])[-1]
    assert "changes under 5.0\N{NO-BREAK SPACE}% are not called" in rule(0.05).plain
