"""Charts with two axes: everything lies inside, faster is to the right and closer is down."""

import io
import math

import msgspec
import pytest
from rich.console import Console

from levelfield.analysis import analyse
from levelfield.report import html, terminal, xy_charts
from tests.compare.runs import with_parity
from tests.records_builder import make_run

ARMS = ("torch", "onnxruntime", "openvino")
RUN = make_run(models=("resnet50",), backends=ARMS, precisions=("fp32", "bf16", "int8"), threads=(1, 2), max_calls=20)
ANALYSIS = analyse(RUN)


def test_speed_is_to_the_right_and_accuracy_down() -> None:
    for found in ANALYSIS.tradeoffs:
        chart = xy_charts.tradeoff(found)
        assert chart is not None
        assert len(chart.spots) == 7, "three in fp32, and two in each of the others"
        assert {shape for shape, _ in chart.shapes} == {"circle", "square", "triangle"}
        torch = {spot.shape: spot for spot in chart.spots if spot.label.startswith("torch,")}
        assert torch["square"].x > torch["circle"].x
        assert torch["square"].y < torch["circle"].y
        assert all(0 <= value <= 100 for spot in chart.spots for value in (spot.x, spot.y))
        assert sum(len(path.points) - 1 for path in chart.paths) == 4, (
            "torch and onnxruntime have one step each, openvino two"
        )
        assert chart.y_ticks
        assert [tick.label[:2] for tick in chart.y_ticks] == ["10"] * len(chart.y_ticks)


@pytest.mark.parametrize("error", [5e-324, 1e308, 1.7976931348623157e308])
def test_errors_at_the_ends_of_what_a_float_holds_have_a_place(error: float) -> None:
    run = with_parity(RUN, "onnxruntime", lambda parity: msgspec.structs.replace(parity, relative_error=error))
    charts = list(filter(None, map(xy_charts.tradeoff, analyse(run).tradeoffs)))
    assert charts
    for chart in charts:
        places = [*(spot.y for spot in chart.spots), *(tick.at for tick in chart.y_ticks)]
        assert all(0 <= place <= 100 for place in places)
        assert len(chart.y_ticks) <= 8


@pytest.mark.parametrize("top", [3.0, 4e4, 1e9, 1e300])
def test_a_speed_up_of_any_size_has_a_few_ticks(top: float) -> None:
    assert 1 <= len(xy_charts._steps_of(0.9, top)) <= 8


def test_speed_ups_lie_below_the_ideal_line_and_inside() -> None:
    for found in ANALYSIS.scalings:
        chart = xy_charts.scaling(found)
        if found.case.precision == "fp32":
            assert chart is not None
            assert [len(path.points) for path in chart.paths] == [2] * len(ARMS)
        assert chart is not None
        (_, start), (_, end) = chart.ideal
        for spot in chart.spots:
            assert 0 <= spot.y <= 100
            assert spot.y >= min(start, end) - 5
            if spot.low is not None and spot.high is not None:
                assert 0 <= spot.high <= spot.y <= spot.low <= 100
        assert all(math.isfinite(tick.at) for tick in chart.y_ticks)


def test_page_and_terminal_show_both() -> None:
    page = html.render(RUN, ANALYSIS)
    assert 'id="precision"' in page
    assert 'id="threads"' in page
    assert "ONNX Runtime&#39;s CPU provider has no bf16 kernels" in page
    assert page.count('class="plane"') == len(ANALYSIS.tradeoffs) + len(ANALYSIS.scalings)
    written = io.StringIO()
    terminal.show(RUN, ANALYSIS, Console(width=160, file=written))
    text = " ".join(written.getvalue().split())
    assert "Speed and accuracy: ResNet-50, latency, batch 1, 2 threads" in text
    assert "Scaling with threads: ResNet-50, latency, bf16, batch 1" in text
    assert "ResNet-50 (bf16, 1 thread)" in text


def test_processes_have_a_section_of_their_own() -> None:
    run = make_run(
        models=("mlp",),
        backends=("jax", "torch"),
        scenarios=("training",),
        threads=(1,),
        processes=(1, 2),
        max_calls=20,
    )
    analysis = analyse(run)
    (found,) = analysis.scalings
    chart = xy_charts.scaling(found)
    assert chart is not None
    assert chart.x_label == "processes"
    assert "jax, 2 processes: 1.8" in chart.summary
    page = html.render(run, analysis)
    assert 'id="processes"' in page
    assert '<a href="#processes">Processes</a>' in page
    assert 'id="threads"' not in page
    assert "2 processes with 1 thread each" in page
    assert "Training of MLP in fp32, in 2 processes, batch" in page
    assert "--processes 1,2" in page, "the command that measures it again"
    written = io.StringIO()
    terminal.show(run, analysis, Console(width=160, file=written))
    text = " ".join(written.getvalue().split())
    assert "Scaling with processes: MLP, training, fp32, batch 1000, 1 thread each" in text
    assert "MLP, training, batch 1000, 2 processes" in text


def test_a_run_in_one_precision_with_one_number_of_threads_has_neither() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), max_calls=20)
    page = html.render(run, analyse(run))
    assert 'id="precision"' not in page
    assert 'id="threads"' not in page
