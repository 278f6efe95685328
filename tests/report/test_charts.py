import pytest

from levelfield.analysis import analyse
from levelfield.record.schema import Failure
from levelfield.report import charts
from tests.records_builder import make_run


def test_every_arm_has_a_row_those_without_numbers_too() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    analysis = analyse(make_run(models=("resnet50",), failures={("jax", "resnet50"): crash}))
    timed = charts.timed(analysis.timed[0])
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
    chart = charts.timed(analyse(make_run(models=("mlp",))).timed[0])
    assert chart is not None
    for mark in chart.marks:
        assert mark.at is not None
        assert mark.low is not None
        assert mark.high is not None
        assert mark.low <= mark.at <= mark.high
        assert len(mark.dots) == 5
        assert f"{mark.row.arm} {mark.value}" in chart.summary


def test_segments_of_a_cold_start_follow_one_another() -> None:
    chart = charts.cold(analyse(make_run(models=("bert",))).cold[0])
    assert chart is not None
    for bar in chart.marks:
        ends = [part.start + part.width for part in bar.parts]
        assert [part.start for part in bar.parts[1:]] == pytest.approx(ends[:-1], abs=0.02)
        assert ends[-1] <= 100


def test_the_canary_course_stays_inside_its_frame() -> None:
    canary = analyse(make_run(models=("mlp",))).canary
    assert canary is not None
    course = charts.canary(canary)
    assert len(course.points) == 10
    assert all(0 <= point.x <= 100 and 0 <= point.y <= 100 for point in course.points)
    assert {"median"} < {tick.label for tick in course.ticks}


def test_a_bar_far_longer_than_the_others_is_cut_within_the_axis() -> None:
    chart = charts.cold(analyse(make_run(models=("mlp",), scenarios=("cold-start",), rounds=2)).cold[0])
    assert chart is not None
    cut = [bar for bar in chart.marks if bar.cut]
    assert [bar.row.arm for bar in cut] == ["torch-compile"]
    assert chart.broken
    for bar in chart.marks:
        assert bar.parts[-1].start + bar.parts[-1].width <= 100 + 1e-9
    assert max(bar.parts[-1].start + bar.parts[-1].width for bar in chart.marks if not bar.cut) > 50
