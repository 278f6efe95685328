""""""

import io

import pytest
from rich.console import Console
from rich.table import Table

from levelfield.analysis import analyse
from levelfield.record import files
from levelfield.record.schema import Failure, Run, Warning_
from levelfield.report import terminal
from levelfield.report.terminal_tables import Identifier, lines
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


def test_a_long_name_is_folded_between_its_words_and_no_figure_is_cut_off() -> None:
    one = files.read(ROOT / "reports" / "20261122-224306-standard-67ff")
    assert any(arm.id == "tensorflow+frozen=off" for block in one.blocks for arm in block.arms)
    text = shown(one, 80)
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


SCREEN = 40
"""Lines of a terminal."""


def shown_of_summary(run: Run, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    terminal.show_summary(run, analyse(run), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_run_of_many_cases_fits_one_screen(width: int) -> None:
    text = shown_of_summary(make_run(control="onnxruntime"), width)
    lines = text.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= width


def test_every_case_has_its_fastest_and_the_next() -> None:
    text = shown_of_summary(make_run(noise_scale=0.0), 120)
    assert text.index("onnxruntime is fastest on MLP") < text.index("Fastest in each case")
    assert "All 21 answers are equal to the reference." in text
    for title, best in (("MLP, latency", "onnxruntime"), ("ResNet-50, latency", "openvino"), ("BERT-base", "openvino")):
        line = next(each for each in text.splitlines() if each.strip().startswith(title))
        assert best in line
        assert line.count("%") + line.count("×") == 1, "how far behind the next one is"


def test_of_few_cases_all_arms_are_listed() -> None:
    text = shown_of_summary(make_run(models=("mlp",), scenarios=("latency",)), 120)
    assert "Fastest in each case" not in text
    assert text.count("torch-compile") >= 1
    assert "behind the best" in text


def test_without_a_ranking_cold_starts_and_memory_are_listed() -> None:
    text = shown_of_summary(make_run(scenarios=("cold-start", "memory")))
    assert "Cold start: " in text
    assert "Peak memory" in text
    assert "Peak memory" not in shown_of_summary(make_run())


def test_an_arm_that_failed_in_a_cold_start_is_named() -> None:
    failure = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    text = shown_of_summary(make_run(models=("mlp",), scenarios=("cold-start",), failures={("jax", "mlp"): failure}))
    assert "jax (MLP): It ended with signal 9." in " ".join(text.split())


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
    assert "Warning: jax and torch: The clock is slow." in text
    assert "2 more warnings in the report." in text
    assert len(text.splitlines()) <= SCREEN


def test_a_run_too_short_to_rank_says_so_once() -> None:
    text = shown_of_summary(make_run(generations=2))
    assert "Fastest in each case" not in text
    assert text.count("a ranking takes") == 1


def test_control_characters_and_markup_are_text() -> None:
    failure = Failure(stage="load", kind="error", message="\x1b]0;owned\x07\x1b[2Jgone [red]boo[/red]")
    text = shown_of_summary(make_run(failures={("jax", "mlp"): failure}))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]boo[/red]" in text


def test_a_name_is_broken_between_its_parts_only() -> None:
    assert lines("tensorflow@2.18.1+frozen=on", 20) == ["tensorflow@2.18.1+", "frozen=on"]
    assert lines("onnxruntime/bert/latency/fp32", 17) == ["onnxruntime/bert/", "latency/fp32"]
    assert lines("toy, concurrent 2, output tokens", 18) == ["toy, concurrent 2,", "output tokens"]
    assert lines("tensorflow@2.18.1", 5) == ["tensorflow@", "2.18.1"]
    assert lines("keras-tensorflow+frozen=off", 12) == ["keras-", "tensorflow+", "frozen=off"]
    assert lines("torch@cuda", 10) == ["torch@cuda"]
    assert lines("", 5) == [""]


def test_a_column_gives_way_as_far_as_the_longest_part() -> None:
    out = io.StringIO()
    table = Table(box=None)
    table.add_column("arm")
    table.add_column("a long heading", no_wrap=True)
    table.add_row(Identifier("tensorflow@2.18.1+frozen=on[bold]"), "1.02")
    Console(file=out, width=42).print(table)
    assert "tensorflow@2.18.1+" in out.getvalue()
    assert "frozen=on[bold]" in out.getvalue()
