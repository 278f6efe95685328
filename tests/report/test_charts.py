import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from levelfield.analysis import analyse
from levelfield.record.schema import Failure
from levelfield.report import charts, units
from levelfield.report.charts import ENDS, INSIDE, reach
from tests.known import known
from tests.records_builder import make_run


def test_every_arm_has_a_row_those_without_numbers_too() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    analysis = analyse(make_run(models=("resnet50",), failures={("jax", "resnet50"): crash}))
    timed = charts.ranked(analysis.timed[0])
    cold = charts.cold(analysis.cold[0])
    memory = charts.memory(analysis.memory[0])
    assert timed is not None
    assert cold is not None
    assert memory is not None
    for names, last in (
        ([mark.row.arm for mark in timed.marks], timed.marks[-1].value),
        ([bar.row.arm for bar in cold.marks], cold.marks[-1].value),
        ([bar.row.arm for bar in memory.marks], memory.marks[-1].value),
    ):
        assert len(names) == 7
        assert (names[-1], last) == ("jax", "failed")


def test_a_mark_lies_within_its_interval_and_the_summary_tells_all() -> None:
    chart = known(charts.ranked(analyse(make_run(models=("mlp",))).timed[0]))
    for mark in chart.marks:
        assert known(mark.low) <= known(mark.at) <= known(mark.high)
        assert len(mark.dots) == 5
        assert f"{mark.row.arm} {mark.value}" in chart.summary


def test_segments_of_a_cold_start_follow_one_another() -> None:
    chart = known(charts.cold(analyse(make_run(models=("bert",))).cold[0]))
    for bar in chart.marks:
        ends = [part.start + part.width for part in bar.parts]
        assert [part.start for part in bar.parts[1:]] == pytest.approx(ends[:-1], abs=0.02)
        assert ends[-1] <= 100


def test_the_canary_course_stays_inside_its_frame() -> None:
    canary = known(analyse(make_run(models=("mlp",))).canary)
    course = charts.canary(canary)
    assert len(course.points) == 10
    assert all(0 <= point.x <= 100 and 0 <= point.y <= 100 for point in course.points)
    assert {"median"} < {tick.label for tick in course.ticks}


def test_a_bar_far_longer_than_the_others_is_cut_within_the_axis() -> None:
    chart = known(charts.cold(analyse(make_run(models=("mlp",), scenarios=("cold-start",), rounds=2)).cold[0]))
    cut = [bar for bar in chart.marks if bar.cut]
    assert [bar.row.arm for bar in cut] == ["torch-compile"]
    assert chart.broken
    for bar in chart.marks:
        assert bar.parts[-1].start + bar.parts[-1].width <= 100 + 1e-9
    assert max(bar.parts[-1].start + bar.parts[-1].width for bar in chart.marks if not bar.cut) > 50


positive = st.floats(min_value=1e-6, max_value=1e15)


@given(st.lists(positive, min_size=1, max_size=30), st.booleans())
def test_every_value_lies_on_the_axis_in_order_and_ticks_are_few(values: list[float], zero: bool) -> None:
    axis = charts.make_axis([0.0, *values] if zero else values, 1.0, "ms", "lower is better", zero=zero)
    places = [axis.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert axis.low <= min(values)
    assert axis.high >= max(values)
    assert 0 <= len(axis.ticks) <= 8
    assert all(0 <= tick.at <= 100 for tick in axis.ticks)


@given(positive, positive)
def test_bars_begin_at_zero_and_are_proportional(first: float, second: float) -> None:
    assume(first / second < 1e4 and second / first < 1e4)
    axis = charts.make_axis([0.0, first, second], 1.0, "s", "lower is better", zero=True)
    assert axis.at(0.0) == 0
    assert axis.at(first) * second == pytest.approx(axis.at(second) * first, abs=0.02 * max(first, second))


@pytest.mark.parametrize(
    ("values", "zero", "labels"),
    [
        ([21.0, 47.0], False, ["20", "30", "40"]),
        ([0.0, 47.0], True, ["0", "10", "20", "30", "40"]),
        ([9.0, 95.0], False, ["10", "20", "50", "100"]),
        ([1.0, 30_000.0], False, ["1", "10", "100", f"1{units.GROUP_SPACE}000", f"10{units.GROUP_SPACE}000"]),
    ],
)
def test_ticks_are_round_numbers(values: list[float], zero: bool, labels: list[str]) -> None:
    axis = charts.make_axis(values, 1.0, "ms", "lower is better", zero=zero)
    assert [tick.label for tick in axis.ticks] == labels


def test_ticks_are_in_the_axis_s_unit_and_places_in_the_base_unit() -> None:
    axis = charts.make_axis([20e6, 40e6], 1e6, "ms", "lower is better")
    assert [tick.label for tick in axis.ticks][:2] == ["20", "25"]
    assert axis.ticks[0].at == axis.at(20e6)


def test_an_axis_of_nothing_but_zeros_has_a_width() -> None:
    axis = charts.make_axis([0.0, 0.0], 1.0, "ms", "lower is better", zero=True)
    assert axis.at(0.0) == 0
    assert axis.high > 0
    assert axis.ticks


def test_a_bar_far_longer_than_most_is_left_out_of_the_axis() -> None:
    assert charts.unbroken([1.0, 1.2, 1.4, 20.0]) == [1.0, 1.2, 1.4]
    assert charts.unbroken([1.0, 1.2, 2.5]) == [1.0, 1.2, 2.5]
    assert charts.unbroken([4.0]) == [4.0]


def test_one_far_value_does_not_flatten_the_others() -> None:
    assert reach([0.03, 0.05, 0.08, 0.09, 33.6]) == 0.1


def test_no_difference_at_all_has_an_axis() -> None:
    assert reach([]) == reach([0.0, 0.0]) == ENDS[0]


@given(st.lists(st.floats(min_value=1e-6, max_value=40.0), min_size=1, max_size=60))
def test_most_values_lie_inside(values: list[float]) -> None:
    end = reach(values)
    assert sum(value <= end for value in values) >= int(INSIDE * len(values))
    assert end <= max(*values, ENDS[0]) * 10
