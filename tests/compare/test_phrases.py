"""Phrases that every format shares."""

import msgspec
import pytest

from suite.analysis.types import Estimate
from suite.compare import phrases
from suite.compare.types import Row, Verdict
from suite.record.schema import Case


def row(scenario: str = "latency", **changes: object) -> Row:
    case = Case(model="resnet50", scenario=scenario, precision="fp32", batch=1, threads=2, device="cpu")  # type: ignore[arg-type]
    made = Row(case=case, metric=case.scenario, old_arm="jax", new_arm="jax", verdict=Verdict.SLOWER, outcome="worse")
    return msgspec.structs.replace(made, **changes)


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.0314, "1.031"), (12.41, "12.4"), (0.0021, "0.002"), (0.0001, "<0.001"), (5000.0, ">1000")],
)
def test_a_ratio_is_no_more_precise_than_it_deserves(value: float, written: str) -> None:
    assert phrases.factor(value) == written


def test_a_change_is_said_in_the_words_of_its_metric() -> None:
    assert phrases.by_how_much(row(ratio=Estimate(1.12))).endswith("slower")
    assert phrases.by_how_much(row(ratio=Estimate(0.88))).endswith("faster")
    assert phrases.by_how_much(row("memory", ratio=Estimate(1.12))).endswith("more memory")
    assert phrases.by_how_much(row("memory", ratio=Estimate(0.88))).endswith("less memory")
    assert phrases.by_how_much(row()) == "slower", "there is no ratio"


def test_arms_are_named_once_where_they_are_the_same() -> None:
    assert phrases.arms(row()) == "jax"
    assert phrases.arms(row(old_arm="jax@0.9.0")) == "jax@0.9.0 → jax"
    assert phrases.arms(row(new_arm="")) == "jax"


def test_what_all_rows_share_is_said_once() -> None:
    rows = [row(), row("memory")]
    assert phrases.shared(rows).endswith("cpu")
    other = msgspec.structs.replace(rows[0].case, threads=1)
    assert phrases.shared([*rows, row(case=other)]) == ""


def test_further_replicates_are_counted_in_their_unit() -> None:
    undecided = row(verdict=Verdict.INCONCLUSIVE, outcome="undecided", ratio=Estimate(1.0, 0.9, 1.1), confidence=0.99)
    one, many = (msgspec.structs.replace(undecided, further=count) for count in (1, 12))
    assert phrases.note(one, "launch") == "1 more launch a side would decide"
    assert phrases.note(many, "launch") == "12 more launches a side would decide"
    assert phrases.note(many) == "12 more runs a side would decide"
    assert phrases.note(undecided) == "no number of runs within reach would decide"


def test_a_strangers_text_stays_short_and_on_one_line() -> None:
    assert phrases.clean("a\nb\x1b[31m") == "a b�[31m"
    assert len(phrases.clean("x" * 1000)) == phrases.LONGEST
    assert phrases.value(f"digest {'a' * 64}") == f"digest {'a' * 12}…"
