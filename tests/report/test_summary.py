import io

import pytest
from rich.console import Console

from levelfield.analysis import analyse
from levelfield.record.schema import Failure, Run, Warning_
from levelfield.report import summary
from tests.records_builder import make_run

SCREEN = 40
"""Lines of a terminal."""


def shown(run: Run, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    summary.show(run, analyse(run), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_run_of_many_cases_fits_one_screen(width: int) -> None:
    text = shown(make_run(control="onnxruntime"), width)
    lines = text.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= width


def test_every_case_has_its_fastest_and_the_next() -> None:
    text = shown(make_run(noise_scale=0.0), 120)
    assert text.index("onnxruntime is fastest on MLP") < text.index("Fastest in each case")
    assert "All 21 answers are equal to the reference." in text
    for title, best in (("MLP, latency", "onnxruntime"), ("ResNet-50, latency", "openvino"), ("BERT-base", "openvino")):
        line = next(each for each in text.splitlines() if each.strip().startswith(title))
        assert best in line
        assert line.count("%") + line.count("×") == 1, "how far behind the next one is"


def test_of_few_cases_all_arms_are_listed() -> None:
    text = shown(make_run(models=("mlp",), scenarios=("latency",)), 120)
    assert "Fastest in each case" not in text
    assert text.count("torch-compile") >= 1
    assert "behind the best" in text


def test_without_a_ranking_cold_starts_and_memory_are_listed() -> None:
    text = shown(make_run(scenarios=("cold-start", "memory")))
    assert "Cold start: " in text
    assert "Peak memory" in text
    assert "Peak memory" not in shown(make_run())


def test_an_arm_that_failed_in_a_cold_start_is_named() -> None:
    failure = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    text = shown(make_run(models=("mlp",), scenarios=("cold-start",), failures={("jax", "mlp"): failure}))
    assert "jax (MLP): It ended with signal 9." in " ".join(text.split())


def test_failures_are_reported_once_for_all_cases() -> None:
    failure = Failure(stage="load", kind="out-of-memory", message="It needed more than 4 GiB.")
    text = shown(make_run(failures={("jax", "bert"): failure, ("jax", "mlp"): failure}, unequal=[("torch", "bert")]))
    said = " ".join(text.split())
    assert said.count("It needed more than 4 GiB.") == 1
    assert "jax (MLP) and jax (BERT-base): It needed more than 4 GiB." in said
    assert "torch (BERT-base): " in said


def test_warnings_of_a_kind_are_one_and_short() -> None:
    long = "The clock is slow. " * 20
    same = tuple(Warning_(code="clock", message=long, remedy="Wind it up.", about=arm) for arm in ("jax", "torch"))
    others = tuple(Warning_(code=f"other-{number}", message="Something else.") for number in range(4))
    text = shown(make_run(warnings=same + others))
    assert text.count("Warning: ") == summary.MOST_WARNINGS
    assert "Warning: jax and torch: The clock is slow." in text
    assert "2 more warnings in the report." in text
    assert len(text.splitlines()) <= SCREEN


def test_a_run_too_short_to_rank_says_so_once() -> None:
    text = shown(make_run(generations=2))
    assert "Fastest in each case" not in text
    assert text.count("a ranking takes") == 1


def test_control_characters_and_markup_are_text() -> None:
    failure = Failure(stage="load", kind="error", message="\x1b]0;owned\x07\x1b[2Jgone [red]boo[/red]")
    text = shown(make_run(failures={("jax", "mlp"): failure}))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]boo[/red]" in text
