"""From runs to a verdict, an exit code and a first line: what may be said, and above all what may not."""

from typing import Any

import msgspec
import pytest

from levelfield.compare.comparison import compare_runs
from levelfield.compare.rows import Selection
from levelfield.compare.sides import load
from levelfield.compare.types import Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Case
from tests.commands import ROOT
from tests.compare.runs import (
    one,
    reduced,
    run,
    with_case,
)

UNLIKE = ("20261121-163925-standard-22a3", "20261122-041102-standard-212d")
"""Published runs without a case in common."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"backends": ["jax"]}, {"backends": ["torch"]}),
        ({"scenarios": ["latency"]}, {"scenarios": ["memory"]}),
        ({"models": ["mlp"]}, {"models": ["bert"]}),
    ],
)
def test_unrelated_runs_are_refused_in_one_sentence(old: dict[str, Any], new: dict[str, Any]) -> None:
    with pytest.raises(LevelfieldError, match=r"^The two sides have no cases in common: the old side has [12] result"):
        one(run("a", **old), run("b", **new))


def test_the_selection_must_have_something_in_common() -> None:
    old, new = run("a", backends=["jax", "torch"]), run("b", backends=["jax", "openvino"])
    assert one(old, new).exit_code == 3
    with pytest.raises(LevelfieldError, match="no cases in common"):
        one(old, new, selection=Selection(("torch/*", "openvino/*")))


def test_the_published_runs_have_nothing_in_common() -> None:
    """They once gave 84 rows that said *missing*."""
    published = [load(ROOT / "reports" / name / "run.json") for name in UNLIKE]
    with pytest.raises(LevelfieldError, match=r"no cases in common: the old side has 84 results, such as"):
        compare_runs(published[:1], published[1:])


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"threads": 4}, "2 threads before, 4 now"), ({"precision": "bf16"}, "fp32 before, bf16 now")],
)
def test_other_threads_and_precisions_give_a_sentence(changes: dict[str, Any], says: str) -> None:
    found = one(run("a"), with_case(run("b"), **changes))
    assert [(row.verdict, row.reason) for row in found.rows] == [(Verdict.INCOMPARABLE, says)] * 2
    assert found.exit_code == 3


def test_a_run_counts_once() -> None:
    with pytest.raises(LevelfieldError, match="The run a is named on both sides"):
        one(run("a"), run("a"))
    with pytest.raises(LevelfieldError, match="The run a is named twice on the old side"):
        compare_runs([reduced(run("a")), reduced(run("a", 2))], [reduced(run("b"))])


def test_a_selection_that_leaves_nothing() -> None:
    with pytest.raises(LevelfieldError, match=r"No case is left to compare with --only torch/\*") as caught:
        one(run("a"), run("b"), selection=Selection(only=("torch/*",)))
    assert caught.value.fix == "There are 2 results, such as jax/mlp/latency/fp32/b1/t2/cpu."


def test_records_without_answers() -> None:
    empty = msgspec.structs.replace(run("a"), blocks=())
    with pytest.raises(LevelfieldError, match="Neither side answered anything"):
        one(empty, msgspec.structs.replace(empty, id="b"))


def test_a_case_keeps_its_id() -> None:
    found = one(run("a"), run("b"))
    assert found.rows[0].case == Case("mlp", "latency", "fp32", 1, 2)
    assert {row.id for row in found.rows} == {f"{arm}/mlp/latency/fp32/b1/t2/cpu" for arm in ("jax", "onnxruntime")}
