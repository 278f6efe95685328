import io

import pytest
from rich.console import Console

from levelfield.analysis import analyse
from levelfield.record import files
from levelfield.record.schema import Failure, Run, Warning_
from levelfield.report import terminal
from tests.commands import ROOT
from tests.records_builder import make_run


def shown(run: Run, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    terminal.show(run, analyse(run), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_verdict_comes_before_the_tables() -> None:
    text = shown(make_run(noise_scale=0.0))
    assert text.index("onnxruntime is fastest on MLP") < text.index("MLP, latency, batch 1")
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


def test_a_long_name_is_folded_and_no_figure_is_cut_off() -> None:
    one = files.read(ROOT / "reports" / "20261122-233334-standard-18e8")
    assert any(arm.id == "tensorflow+frozen=off" for block in one.blocks for arm in block.arms)
    text = shown(one, 80)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_long_name_is_folded_between_its_words() -> None:
    one = files.read(ROOT / "reports" / "20261126-195621-standard-5280")
    text = shown(one, 80)
    assert "onnxruntime" in text
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


def test_warnings_come_with_their_remedies() -> None:
    warning = Warning_(code="x", message="The clock is slow.", remedy="Wind it up.", about="jax/mlp")
    text = shown(make_run(models=("mlp",), warnings=(warning,)))
    assert "Warning: jax/mlp: The clock is slow." in text
    assert "→ Wind it up." in text


def test_markup_in_a_record_is_text() -> None:
    run = make_run(models=("mlp",), warnings=(Warning_(code="x", message="[red]boo[/red] [link=x]y[/link] [/]"),))
    assert "[red]boo[/red] [link=x]y[/link] [/]" in shown(run)


def test_control_characters_cannot_reach_the_terminal() -> None:
    failure = Failure(stage="load", kind="error", message="\x1b]0;owned\x07\x1b[2Jgone")
    text = shown(make_run(models=("mlp",), failures={("jax", "mlp"): failure}))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_in_eighty_columns_every_arm_of_a_loadgen_case_keeps_its_name() -> None:
    one = files.read(ROOT / "reports" / "20261126-195621-standard-5280")
    text = shown(one, 80)
    table = text.partition("LoadGen SingleStream: ")[2].partition("LoadGen SingleStream on")[0]
    assert "…" not in table
    for arm in ("litert", "openvino", "mxnet", "jax", "ncnn"):
        assert f" {arm} " in table
