"""The first screen in words: who is fastest on each model, by how much, and whether to believe it."""

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from levelfield.analysis import Analysis, analyse
from levelfield.analysis.types import Control, Estimate, TimedBlock
from levelfield.record import files
from levelfield.record.schema import Image, Run, Warning_
from levelfield.report import answers, html, sentences
from levelfield.statistics.verdicts import Verdict
from tests.records_builder import make_run
from tests.report.plain import plain

REPORTS = Path(__file__).parents[2] / "reports"


def lines(analysis: Analysis) -> list[str]:
    return [f"{each.model}: {plain(each.text)}" for each in answers.answers(analysis)]


def close_run(slower: float, noise_scale: float) -> Run:
    """Return a run of one case: onnxruntime takes `slower` times as long as openvino, others far more."""
    return make_run(
        models=("resnet50",),
        scenarios=("latency",),
        slower={"onnxruntime": 21.3 / 21.9 * slower},
        noise_scale=noise_scale,
    )


def test_each_model_has_one_line_with_the_fastest_and_the_next() -> None:
    analysis = analyse(make_run(noise_scale=0.0))
    assert answers.title(analysis) == "Latency: fastest of 7 arms on 3 models"
    assert lines(analysis) == [
        "MLP: onnxruntime is fastest; next openvino, +47 % (47–47 %).",
        "ResNet-50: openvino is fastest; next onnxruntime, +2.8 % (2.8–2.8 %).",
        "BERT-base: openvino is fastest; next tensorflow-xla, +14 % (14–14 %).",
    ]


def test_arms_that_are_equal_or_close_are_named_together_with_the_widest_difference() -> None:
    (equal,) = lines(analyse(close_run(1.01, 0.05)))
    assert re.fullmatch(
        r"ResNet-50: openvino and onnxruntime are equal, within 1\.\d % of each other; next .*\.", equal
    )
    (close,) = lines(analyse(close_run(1.01, 1.0)))
    assert re.match(r"ResNet-50: \S+ and \S+, within \d\.\d % of each other; next torch-compile, \+2\d %", close)


def test_what_the_run_could_not_tell_says_how_wide_and_what_would_help() -> None:
    (line,) = lines(analyse(close_run(1.01, 8.0)))
    assert re.search(r"are not separated, at most \d+ % apart \(a longer run may tell\)", line)
    noisy = make_run(models=("resnet50",), scenarios=("latency",), noise_scale=8.0, disturbed=[0, 1])
    assert answers.disturbed_share(analyse(noisy)) >= answers.NOTABLE
    assert "a quieter machine may tell" in lines(analyse(noisy))[0]


def crossed() -> tuple[TimedBlock, list[str]]:
    """Return a block whose third arm cannot be placed, though the second, with a better estimate, is slower."""
    (block,) = analyse(make_run(models=("mlp",), scenarios=("latency",))).timed
    second, third = block.rows[1:3]
    slower = msgspec.structs.replace(second, rank=2, verdict=Verdict.SLOWER, ratio=Estimate(1.11, 1.05, 1.18))
    wide = msgspec.structs.replace(third, rank=1, verdict=Verdict.UNDECIDED, ratio=Estimate(1.25, 1.0, 1.6))
    rows = (block.rows[0], wide, slower, *block.rows[3:])
    return msgspec.structs.replace(block, rows=rows), [rows[0].arm, slower.arm, wide.arm]


def test_no_arm_is_named_slower_than_one_that_is_named_level_with_the_best() -> None:
    block, (best, slower, wide) = crossed()
    found = sentences.order(block)
    assert [row.arm for row in found.level] == [best]
    assert found.following is not None
    assert (found.following.arm, [row.arm for row in found.unplaced]) == (slower, [wide])
    said = plain(sentences.verdict(block))
    assert said.startswith(f"{best} is fastest on MLP")
    assert f"11 % (5.0–18 %) faster than {slower}" in said
    assert wide not in said


@pytest.mark.parametrize("folder", sorted(REPORTS.glob("2026*")), ids=lambda folder: folder.name)
def test_published_runs_follow_the_order_of_estimates_under_short_headings(folder: Path) -> None:
    run = files.read(folder)
    analysis = analyse(run)
    for block in (*analysis.timed, *analysis.convergence):
        if block.best is None:
            continue
        found = sentences.order(block)
        named = [*found.level, *([found.following] if found.following else []), *found.unplaced]
        ratios = [row.ratio.value for row in named if row.ratio is not None]
        assert ratios[: len(found.level) + 1] == sorted(ratios)[: len(found.level) + 1]
    models = [each.model for each in answers.answers(analysis)]
    assert len(models) == len(set(models))
    page = re.sub("&#8288;", "", html.render(run, analysis))
    headings = re.findall(r"<(h[1-6])[^>]*>(.*?)</\1>", page, re.DOTALL)
    texts = [(level, " ".join(re.sub(r"<small>.*</small>|<[^>]+>", " ", text).split())) for level, text in headings]
    assert max(len(text.split()) for _, text in texts) <= 12
    third = [text for level, text in texts if level == "h3"]
    assert len(third) == len(set(third)), "two headings are the same"
    assert not re.search(r"\d %|\bnox\b|left after", re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL))


def test_several_cases_of_a_model_share_its_line() -> None:
    analysis = analyse(
        make_run(models=("resnet50",), scenarios=("latency",), precisions=("fp32", "bf16"), noise_scale=0.0)
    )
    (line,) = lines(analysis)
    assert re.match(r"ResNet-50: fp32: openvino is fastest; next .*\. bf16: \S+ is fastest", line)


def test_where_nothing_is_ranked_the_line_says_why() -> None:
    analysis = analyse(make_run(generations=2))
    assert answers.title(analysis) == "Nothing is ranked"
    assert answers.overall(analysis) == (
        "All 21 answers are equal to the reference. Nothing is ranked: 2 launches, and a ranking takes 5."
    )


# ---- whether to believe it -------------------------------------------------------------------------------------------


def test_a_clean_run_has_nothing_against_it_and_no_other_says_no_warnings() -> None:
    run = make_run(models=("mlp",), control="onnxruntime", noise_scale=0.0)
    clean = [each for each in answers.reservations(run, analyse(run)) if "state of the machine" not in each]
    assert clean == []
    assert "was not called different" in answers.facts(run, analyse(run), ())
    assert "2 settings differ between arms." in answers.facts(run, analyse(run), (1, 2))


def test_everything_that_speaks_against_a_run_is_a_reservation() -> None:
    canary = Image(name="canary", variant="cpu", launcher="host", unlocked="It is whatever is installed.")
    warning = Warning_(code="known-wrong", message="torch 0 is known to answer wrongly.", about="torch")
    run = make_run(
        models=("mlp",), scenarios=("latency",), disturbed=[0], unequal=[("torch", "mlp")], warnings=(warning,)
    )
    run = msgspec.structs.replace(run, images=(canary,))
    analysis = analyse(run)
    (block,) = analysis.timed
    control = Control("jax#2", "jax", Estimate(1.05, 1.02, 1.08))
    analysis = replace(analysis, blocks=(msgspec.structs.replace(block, controls=(control,)),))
    found = answers.reservations(run, analysis)
    text = plain(" ".join(found))
    for said in (
        "6 of 7 answers equal the reference, 1 does not.",
        "the control, jax a second time, was called different: their ratio is 1.050 (1.020–1.080)",
        "rounds were disturbed from outside",
        "The canary did not run from its lock: It is whatever is installed.",
        "torch 0 is known to answer wrongly.",
        "warning below, with what to do",
    ):
        assert said in text
    assert answers.trust(run, analysis) == f"Can it be trusted? {len(found)} reservations"
    page = html.render(run, analysis)
    assert "<dt>Warnings</dt><dd>none" not in page
    assert "in a frozen image" not in page, "the canary ran in none"
