""""""

from functools import partial

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.record.schema import Failure, Run, Warning_
from levelfield.report import terminal
from tests.records_builder import make_run
from tests.report.plain import printed


def shown(run: Run, width: int = 120) -> str:
    return printed(partial(terminal.show, run, analyse(run)), width)


def test_the_verdict_comes_before_the_tables() -> None:
    text = shown(make_run(noise_scale=0.0))
    assert text.index("MLP: onnxruntime is fastest") < text.index("MLP, latency, batch 1")
    assert "All 21 answers are equal to the reference." in text
    assert "Supervisor during windows: 0.21 % of a core." in text


def test_every_arm_of_every_case_is_there() -> None:
    text = shown(make_run())
    for title in ("MLP, latency", "ResNet-50, throughput", "BERT-base, latency", "Cold start", "Peak memory"):
        assert title in text
    assert text.count("torch-compile") >= 8


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_figure_is_cut_off(width: int) -> None:
    text = shown(make_run(control="onnxruntime"), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_long_name_is_folded_between_its_words_and_no_figure_is_cut_off() -> None:
    one = make_run(control="onnxruntime")
    arms = msgspec.json.encode(one).replace(b'"tensorflow"', b'"tensorflow+frozen=off"')
    text = shown(msgspec.json.decode(arms, type=Run), 80)
    assert "frozen=off" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert not [line for line in text.splitlines() if line.strip() in {"e", "me", "time", "ow", "low"}], "half a word"


def test_a_venv_is_said_in_the_first_lines() -> None:
    first = "\n".join(shown(make_run(launcher="venv")).splitlines()[:3])
    assert "in virtual environments, not in containers" in first


def test_failures_and_reasons_are_reported() -> None:
    failure = Failure(stage="load", kind="out-of-memory", message="It needed more than 4 GiB.")
    text = shown(make_run(models=("bert",), failures={("jax", "bert"): failure}, unequal=[("torch", "bert")]))
    assert "jax: It needed more than 4 GiB." in text
    assert "not equal" in text
    assert "failed" in text
    assert "5 of 7 answers equal the reference, 1 does not, 1 was not compared." in text


def test_a_case_that_the_run_did_not_reach_is_not_measured_and_has_no_figures() -> None:
    run = make_run(models=("mlp", "bert"), scenarios=("latency", "throughput"))
    blocks = (run.blocks[0], *(msgspec.structs.replace(block, generations=()) for block in run.blocks[1:]))
    text = " ".join(shown(msgspec.structs.replace(run, blocks=blocks), 160).split())
    assert "BERT-base, batch 1: not measured: the run ended before its turn." in text
    assert text.count("mean, µs") == text.count("p90") == 1
    assert "mean, ns" not in text
    assert "no arm gave" not in text
    assert "not probed" not in text


def test_warnings_come_with_their_remedies() -> None:
    warning = Warning_(code="x", message="The clock is slow.", remedy="Wind it up.", about="jax/mlp")
    text = shown(make_run(models=("mlp",), warnings=(warning,)))
    assert "Warning: jax/mlp: The clock is slow." in text
    assert "→ Wind it up." in text


SCREEN = 40
"""Lines of a terminal."""


def shown_of_summary(run: Run, width: int = 80) -> str:
    return printed(partial(terminal.show_summary, run, analyse(run)), width)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_run_of_many_cases_fits_one_screen(width: int) -> None:
    lines = shown_of_summary(make_run(control="onnxruntime"), width).splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= width


def test_every_case_has_its_fastest_and_the_next() -> None:
    text = shown_of_summary(make_run(noise_scale=0.0), 120)
    assert text.index("MLP: onnxruntime is fastest") < text.index("Fastest in each case")
    assert "All 21 answers are equal to the reference." in text
    for title, best in (("MLP, latency", "onnxruntime"), ("ResNet-50, latency", "openvino"), ("BERT-base", "openvino")):
        line = next(
            each for each in text[text.index("Fastest in each case") :].splitlines() if each.strip().startswith(title)
        )
        assert best in line
        assert line.count("%") + line.count("×") == 1, "how far behind the next one is"


def test_failures_are_reported_once_for_all_cases() -> None:
    failure = Failure(stage="load", kind="out-of-memory", message="It needed more than 4 GiB.")
    text = shown_of_summary(
        make_run(failures={("jax", "bert"): failure, ("jax", "mlp"): failure}, unequal=[("torch", "bert")])
    )
    said = " ".join(text.split())
    assert said.count("It needed more than 4 GiB.") == 1
    assert "jax (MLP) and jax (BERT-base): It needed more than 4 GiB." in said
    assert "torch (BERT-base): " in said


def test_warnings_of_a_kind_are_one_and_short() -> None:
    long = "The clock is slow. " * 20
    same = tuple(Warning_(code="clock", message=long, remedy="Wind it up.", about=arm) for arm in ("jax", "torch"))
    others = tuple(Warning_(code=f"other-{number}", message="Something else.") for number in range(4))
    text = shown_of_summary(make_run(warnings=same + others))
    assert text.count("Warning: ") == terminal.MOST_WARNINGS
    assert "Warning: jax: The clock is slow." in text
    assert "3 more warnings in the report." in text
    assert len(text.splitlines()) <= SCREEN


def test_control_characters_and_markup_are_text() -> None:
    failure = Failure(stage="load", kind="error", message="\x1b]0;owned\x07\x1b[2Jgone [red]boo[/red]")
    text = shown_of_summary(make_run(failures={("jax", "mlp"): failure}))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]boo[/red]" in text
