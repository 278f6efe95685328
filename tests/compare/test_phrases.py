"""Phrases that every format shares."""

import msgspec

from levelfield.analysis.types import Estimate
from levelfield.compare import phrases
from levelfield.compare.types import Row, Verdict
from levelfield.record.schema import Case


def row(scenario: str = "latency", **changes: object) -> Row:
    case = Case(model="resnet50", scenario=scenario, precision="fp32", batch=1, threads=2, device="cpu")  # type: ignore[arg-type]
    made = Row(case=case, metric=case.scenario, old_arm="jax", new_arm="jax", verdict=Verdict.SLOWER, outcome="worse")
    return msgspec.structs.replace(made, **changes)


def test_a_change_is_said_in_the_words_of_its_metric() -> None:
    assert phrases.by_how_much(row(ratio=Estimate(1.12))).endswith("slower")
    assert phrases.by_how_much(row(ratio=Estimate(0.88))).endswith("faster")
    assert phrases.by_how_much(row("memory", ratio=Estimate(1.12))).endswith("more memory")
    assert phrases.by_how_much(row("memory", ratio=Estimate(0.88))).endswith("less memory")
    assert phrases.by_how_much(row()) == "slower", "there is no ratio"


def test_what_all_rows_share_is_said_once() -> None:
    rows = [row(), row("memory")]
    assert phrases.shared(rows).endswith("cpu")
    other = msgspec.structs.replace(rows[0].case, threads=1)
    assert phrases.shared([*rows, row(case=other)]) == ""


def test_a_strangers_text_stays_short_and_on_one_line() -> None:
    assert phrases.clean("a\nb\x1b[31m") == "a b�[31m"
    assert len(phrases.clean("x" * 1000)) == phrases.LONGEST
    assert phrases.value(f"digest {'a' * 64}") == f"digest {'a' * 12}…"
