"""The verdicts in words."""

import re
from functools import partial

import msgspec

from levelfield.analysis import analyse
from levelfield.analysis.types import Estimate
from levelfield.record.schema import ControlDraw, Failure, Run
from levelfield.report import html, sentences, terminal, units
from levelfield.report.export import rows
from levelfield.statistics.verdicts import Verdict
from tests.records_builder import make_run
from tests.report.plain import plain, printed
from tests.report.test_answers import close_run


def test_what_lies_inside_the_margin_is_equal() -> None:
    analysis = analyse(close_run(1.01, 0.05))
    assert re.fullmatch(
        r"openvino and onnxruntime are equal on ResNet-50, batch 1: 2\d\.\d ms \(.*\) and 2\d\.\d ms \(.*\) in "
        r"these minutes; onnxruntime takes \d\.\d % \(.*\) more time than openvino; torch-compile follows with "
        r"2\d % \(.*\)\.",
        plain(sentences.verdict(analysis.timed[0])),
    )


def test_what_is_only_unknown_is_not_separated_and_has_its_interval() -> None:
    block = analyse(close_run(1.01, 1.0)).timed[0]
    other = next(row for row in block.rows if row.rank == 1 and row.arm != block.best)
    assert other.ratio is not None
    said = units.slower(other.ratio)
    assert said[said.index("(") :].startswith("(0–")
    assert f"; {other.arm} takes {said} more time than {block.best}; torch-compile follows with " in (
        sentences.verdict(block)
    )


def test_a_quantile_of_too_few_calls_is_absent_with_the_reason_in_every_output() -> None:
    run = make_run(models=("bert",), scenarios=("latency",), max_calls=3, rounds=1)
    analysis = analyse(run)
    reason = "A p90 needs 29 calls, a p99 needs 299 calls"
    assert reason in printed(partial(terminal.show, run, analysis), 160)
    assert reason in html.render(run, analysis)
    for row in rows("results", run, analysis):
        assert (row["p90_ns"], row["p99_ns"], row["quantiles_absent"]) == (None, None, reason[:1].lower() + reason[1:])


def test_identical_arms_are_reported_with_those_of_earlier_runs() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), control="jax", noise_scale=0.0)
    assert plain(sentences.identical(analyse(run))) == (
        "Identical arms on this machine (one comparison): their ratio is 1.000, where the truth is 1; "
        "called different in 0 of 1 (95 %: 0.0–97.5 %)."
    )
    earlier = tuple(ControlDraw(f"r{n}", run.started, "jax", "a case", 1 + n / 1000, 0.9, 1.1) for n in range(5))
    sentence = sentences.identical(analyse(msgspec.structs.replace(run, earlier_controls=earlier)))
    assert "(6 comparisons, earlier runs included): their ratio is 1.002 (1.000–1.003)" in sentence
    assert sentences.identical(analyse(make_run(models=("mlp",)))) == ""


def test_a_verdict_has_value_interval_and_lead() -> None:
    latency, throughput = analyse(make_run(models=("resnet50",), noise_scale=0.0)).timed
    assert plain(sentences.verdict(latency)) == (
        "openvino is fastest on ResNet-50, batch 1: 21.300 ms (21.300–21.300) in these minutes, 2.8 % (2.8–2.8 %) "
        "faster than onnxruntime."
    )
    assert plain(sentences.verdict(throughput)).startswith(
        "onnxruntime has the highest throughput on ResNet-50, batch 8: 46.512"
    )


def test_a_block_that_is_not_ranked_says_why() -> None:
    analysis = analyse(make_run(generations=2))
    assert sentences.verdict(analysis.timed[0]) == "MLP, batch 1: not ranked (2 launches, and a ranking takes 5)."


def test_disturbed_rounds_are_said_with_what_became_of_them() -> None:
    assert sentences.disturbed(analyse(make_run(models=("mlp",)))) == ""
    repeated = analyse(make_run(models=("mlp",), scenarios=("latency",), disturbed=[1]))
    assert sentences.disturbed(repeated) == "5 of 35 rounds were disturbed from outside and are left out."
    run = make_run(models=("mlp",), scenarios=("latency",), disturbed=[0], rounds=1)
    builtins = msgspec.to_builtins(run)
    for generation in builtins["blocks"][0]["generations"][:2]:
        generation["rounds"] = generation["rounds"][:1]  # the repeat did not come to its end
    assert sentences.disturbed(analyse(msgspec.convert(builtins, Run))) == (
        "5 of 8 rounds were disturbed from outside and 3 of these are left out; the other 2 count, since their "
        "generations have no others."
    )


def test_answers_that_were_not_compared_are_distinguished_from_wrong_ones() -> None:
    missing = Failure(stage="load", kind="unsupported", message="It is not here.")
    run = make_run(models=("mlp",), failures={("jax", "mlp"): missing}, unequal=[("torch", "mlp")])
    assert sentences.parity(analyse(run)) == ("5 of 7 answers equal the reference, 1 does not, 1 was not compared.")
    alone = make_run(models=("mlp",), backends=("jax",), failures={("jax", "mlp"): missing})
    assert sentences.parity(analyse(alone)) == "No answer was compared with the reference."


def test_an_arm_that_is_not_shown_to_be_slower_before_one_that_is_has_a_sentence() -> None:
    (block,) = analyse(make_run(models=("mlp",), scenarios=("latency",))).timed
    assert sentences.crossed(block) == ""
    second, third = block.rows[1:3]
    wide = msgspec.structs.replace(second, rank=1, verdict=Verdict.UNDECIDED, ratio=Estimate(1.25, 0.98, 1.6))
    slower = msgspec.structs.replace(third, rank=2, verdict=Verdict.SLOWER, ratio=Estimate(1.11, 1.05, 1.18))
    odd = msgspec.structs.replace(block, rows=(block.rows[0], wide, slower))
    assert sentences.crossed(odd) == (
        f"{wide.arm} (+25\u00a0%) is not shown to be slower, {slower.arm} (+11\u00a0%) is: the launches of {wide.arm} "
        "differ more, which widens its interval."
    )


def test_an_arm_behind_the_first_rank_that_is_not_separated_from_the_best_has_a_sentence() -> None:
    (block,) = analyse(make_run(models=("mlp",), scenarios=("latency",))).timed
    assert sentences.outranked(block) == ""
    second = msgspec.structs.replace(block.rows[1], rank=2, verdict=Verdict.UNDECIDED)
    odd = msgspec.structs.replace(block, rows=(block.rows[0], second))
    assert sentences.outranked(odd) == (
        f"{second.arm} is not of rank 1: an arm other than {block.best} is shown to be faster."
    )


def test_a_label_that_forbids_nothing_has_no_banner() -> None:
    assert sentences.labels(("ab", "smoke")) == [sentences.LABELS["smoke"]]
