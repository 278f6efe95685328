"""Trainings to a target on the page, on the card and in the terminal."""

import dataclasses
import io
import itertools

import msgspec
import pytest
from rich.console import Console

from levelfield.analysis import analyse
from levelfield.analysis.types import ConvergenceBlock
from levelfield.report import curves, html, names, parity, sentences, terminal
from levelfield.share import card
from tests.records_builder import make_run

RUN = make_run(models=("mlp", "resnet50"), scenarios=("latency", "convergence"))
ANALYSIS = analyse(RUN)
FIRST = ANALYSIS.convergence[0]


def test_the_verdict_says_who_is_there_first_and_in_how_many_steps() -> None:
    said = sentences.convergence(FIRST, ANALYSIS.convergence)
    assert said.startswith("jax is first at 97.0\u00a0% on small MLP: ")
    assert "of training in these minutes and 101 steps, " in said
    assert said.endswith("faster than torch-compile.")
    only = analyse(make_run(models=("mlp",), scenarios=("convergence",)))
    assert sentences.overall(only).startswith("jax trains to 97.0\u00a0% fastest on small MLP."), (
        "where nothing else was measured"
    )
    few = analyse(make_run(models=("mlp",), scenarios=("convergence",), generations=1))
    assert (
        sentences.overall(few)
        == "All 5 answers are equal to the reference. Nothing is ranked: 1 launch, and a ranking takes 5."
    )


def test_the_page_tells_times_steps_seeds_and_curves() -> None:
    page = html.render(RUN, ANALYSIS)
    for text in (
        'id="convergence"',
        "Time to accuracy",
        "5 of 5",
        "training until 97.0\u00a0% of the test images are classified correctly, 300 steps at the most, 5 seeds",
        "Accuracy at the end",
        "Load and compile",
        "Test accuracy of small MLP over training time: ",
        'class="ideal"',
        "digits_resnet",
        "Seed by seed",
    ):
        assert text in page, text
    none = make_run(models=("mlp",), scenarios=("latency",))
    assert 'id="convergence"' not in html.render(none, analyse(none))


def test_a_curve_is_the_median_over_seeds() -> None:
    row = FIRST.rows[0]
    curve = curves.median_curve(row)
    assert [each.step for each in curve] == list(range(10, 310, 10))
    assert all(a.accuracy <= b.accuracy for a, b in itertools.pairwise(curve))
    assert curve[8].accuracy == pytest.approx(0.97 * 90 / 100), "of 90, 100, 110, 120 and 90 steps to the target"
    chart = curves.accuracy(FIRST)
    assert chart is not None
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
        return msgspec.structs.replace(block, rows=rows, best=None, also_first=(), unranked_reason="nobody was there")

    block = unreached(FIRST)
    assert curves.times(block) is None
    chart = curves.accuracy(block)
    assert chart is not None
    assert chart.spots == ()
    blocks = tuple(block if each is FIRST else each for each in ANALYSIS.blocks)
    assert "no arm reached the target" in html.render(RUN, dataclasses.replace(ANALYSIS, blocks=blocks))
    assert curves.accuracy(msgspec.structs.replace(block, target=None)) is None
    assert sentences.convergence(block) == "small MLP, time to accuracy: not ranked (nobody was there)."


def test_the_terminal_has_the_table() -> None:
    console = Console(file=io.StringIO(), width=180)
    terminal.show(RUN, ANALYSIS, console)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "small MLP, training to 97.0\u00a0% on the digits" in said
    for heading in ("steps", "accuracy at the", "load and"):
        assert heading in said
    narrow = Console(file=io.StringIO(), width=80)
    terminal.show(RUN, ANALYSIS, narrow)
    assert isinstance(narrow.file, io.StringIO)
    assert "accuracy at the" not in narrow.file.getvalue()


def test_the_card_has_it_too() -> None:
    assert "### small MLP, training to 97.0 % on the digits" in card.markdown(RUN, ANALYSIS)


def test_it_is_a_question_of_its_own() -> None:
    assert names.question("mlp convergence") == "small MLP, convergence"
    assert [head.text for head in parity.table(RUN, ANALYSIS).heads] == ["Arm", "MLP", "ResNet-50"]
    assert ANALYSIS.status.answers == 2 * 7 + 2 * 5
