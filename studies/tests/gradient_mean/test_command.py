"""Both ways to average gradients: the ratio is of medians within a launch, and its interval is over launches."""

import math

import pytest

from studies.gradient_mean.command import EACH, TOGETHER, Launch, Record, markdown


def launch(each_ns: float) -> Launch:
    return Launch(
        {EACH: (each_ns, 9e9, each_ns), TOGETHER: (2e6, 2e6)}, {EACH: 0.5, TOGETHER: 0.5}, {EACH: 13, TOGETHER: 1}, "1"
    )


def test_one_disturbed_window_does_not_count() -> None:
    assert launch(8e6).ratio == pytest.approx(4.0)


def test_the_table_has_the_interval_over_launches() -> None:
    found = Record(
        schema=1,
        started="",
        tool_version="",
        machine={},
        finished="",
        processes=2,
        widths=(4, 2, 1),
        batch=8,
        launches=(launch(8e6), launch(16e6), launch(32e6)),
    )
    text = markdown(found)
    half = 4.303 * math.log(2) / math.sqrt(3)  # Student's t with two degrees of freedom
    assert f"8.0 times as long ({8 / math.exp(half):.1f}–{8 * math.exp(half):.1f}, 95 %" in text
    assert "| together | 1 | 2.00 ms |" in text
