"""Charts with two axes: everything lies inside, faster is to the right and closer is down."""

import dataclasses
import io
import itertools

import msgspec
import pytest
from rich.console import Console

from levelfield.analysis import analyse
from levelfield.analysis.types import ConvergenceBlock
from levelfield.report import answers, charts, html, sentences, terminal, xy_charts
from tests.compare.runs import with_parity
from tests.known import known
from tests.records_builder import make_run

ARMS = ("torch", "onnxruntime", "openvino")
RUN = make_run(models=("resnet50",), backends=ARMS, precisions=("fp32", "bf16", "int8"), threads=(1, 2), max_calls=20)
ANALYSIS = analyse(RUN)


def test_speed_is_to_the_right_and_accuracy_down() -> None:
    for found in ANALYSIS.tradeoffs:
        chart = known(xy_charts.tradeoff(found))
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


def test_page_and_terminal_show_both() -> None:
    page = html.render(RUN, ANALYSIS)
    assert 'id="precision"' in page
    assert 'id="threads"' in page
    assert "ONNX Runtime&#39;s CPU provider has no bf16 kernels" in page
    assert page.count('class="plane"') == len(ANALYSIS.tradeoffs)
    written = io.StringIO()
    terminal.show(RUN, ANALYSIS, Console(width=160, file=written))
    text = " ".join(written.getvalue().split())
    assert "Speed and accuracy: ResNet-50, latency, batch 1: every precision, 2 threads, cpu" in text
    assert "Scaling with threads: ResNet-50, latency, batch 1: by threads, bf16, cpu" in text
    assert "ResNet-50, batch 1, bf16, 1 thread" in text


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
    assert "Scaling with processes: MLP, training, batch 1000: by processes, fp32, 1 thread each, cpu" in text
    assert "MLP, training, batch 1000, 2 processes" in text


RUN_CURVES = make_run(models=("mlp", "resnet50"), scenarios=("latency", "convergence"))
ANALYSIS_CURVES = analyse(RUN_CURVES)
FIRST = ANALYSIS_CURVES.convergence[0]


def test_the_verdict_says_who_is_there_first_and_in_how_many_steps() -> None:
    said = sentences.convergence(FIRST, ANALYSIS_CURVES.convergence)
    assert said.startswith("jax is first at 97.0\u00a0% on small MLP: ")
    assert "of training in these minutes and 101 steps, " in said
    assert said.endswith("faster than torch-compile.")
    only = analyse(make_run(models=("mlp",), scenarios=("convergence",)))
    assert answers.overall(only).startswith("small MLP: jax is first at 97.0\u00a0%; next "), (
        "where nothing else was measured"
    )
    few = analyse(make_run(models=("mlp",), scenarios=("convergence",), generations=1))
    assert (
        answers.overall(few)
        == "All 5 answers are equal to the reference. Nothing is ranked: 1 launch, and a ranking takes 5."
    )


def test_a_curve_is_the_median_over_seeds() -> None:
    curve = xy_charts.median_curve(FIRST.rows[0])
    assert [each.step for each in curve] == list(range(10, 310, 10))
    assert all(a.accuracy <= b.accuracy for a, b in itertools.pairwise(curve))
    assert curve[8].accuracy == pytest.approx(0.97 * 90 / 100), "of 90, 100, 110, 120 and 90 steps to the target"
    chart = known(xy_charts.accuracy(FIRST))
    assert len(chart.spots) == 5
    assert [len(path.points) for path in chart.paths] == 5 * [30]
    assert chart.spots[0].label.startswith("jax: 97 % after ")
    (_, start), (_, end) = chart.ideal
    assert chart.spots[0].y == start == end


def test_what_has_no_time_has_no_mark() -> None:
    def unreached(block: ConvergenceBlock) -> ConvergenceBlock:
        rows = tuple(
            msgspec.structs.replace(
                row, time_ns=None, median_time_ns=None, median_steps=None, launch_times_ns=(), standing="failed"
            )
            for row in block.rows
        )
        return msgspec.structs.replace(block, rows=rows, best=None, unranked_reason="nobody was there")

    block = unreached(FIRST)
    assert charts.ranked(block) is None
    assert known(xy_charts.accuracy(block)).spots == ()
    blocks = tuple(block if each is FIRST else each for each in ANALYSIS_CURVES.blocks)
    assert "no arm reached the target" in html.render(RUN_CURVES, dataclasses.replace(ANALYSIS_CURVES, blocks=blocks))
    assert xy_charts.accuracy(msgspec.structs.replace(block, target=None)) is None
    assert sentences.convergence(block) == "small MLP, time to accuracy: not ranked (nobody was there)."
