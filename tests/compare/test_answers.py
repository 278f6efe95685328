"""Answers to one case: when those of two sides are answers to the same question."""

import msgspec
import pytest

from levelfield.compare.answers import CaseResults, verdict_without_costs
from levelfield.compare.reduction import Answer
from levelfield.compare.types import Outcome, Verdict
from tests.compare.runs import one, row, run, with_launches


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("inputs_sha256", "the inputs are not the same"),
        ("weights_sha256", "the weights are not the same"),
        ("onnx_sha256", "the model file is not the same"),
    ],
)
def test_other_digests_give_a_sentence_instead_of_a_number(field: str, says: str) -> None:
    new = with_launches(run("b"), lambda launch: msgspec.structs.replace(launch, **{field: "e" * 64}))
    found = row(one(run("a"), new), "onnxruntime")
    assert found.verdict is Verdict.INCOMPARABLE
    assert found.outcome == "undecided"
    assert found.reason.startswith(says)
    assert found.reason.endswith("eeeeeeee now)")
    assert found.ratio is None


def test_another_timed_region_is_another_time() -> None:
    new = run("b")
    new = msgspec.structs.replace(new, settings=msgspec.structs.replace(new.settings, timed_region="device only"))
    assert "timed region" in one(run("a"), new).rows[0].reason


FINE = Answer("ranked", cost=1.0)
UNEQUAL = Answer("unequal", "its output is not equal to the reference")
FAILED = Answer("failed", "it would not load", failure="error")
STOPPED = Answer("failed", "the engine stopped", failure="engine")
UNSUPPORTED = Answer("absent", "no kernels for it", failure="unsupported")
ABSENT = Answer("absent", "the run ended before its turn")


@pytest.mark.parametrize(
    ("old", "new", "verdict", "outcome", "reason"),
    [
        (FINE, UNEQUAL, Verdict.UNEQUAL, "worse", UNEQUAL.reason),
        (UNEQUAL, UNEQUAL, Verdict.UNEQUAL, "undecided", UNEQUAL.reason),
        (FAILED, UNEQUAL, Verdict.UNEQUAL, "worse", UNEQUAL.reason),
        (FINE, FAILED, Verdict.FAILED, "worse", FAILED.reason),
        (FINE, STOPPED, Verdict.FAILED, "undecided", STOPPED.reason),
        (FAILED, FAILED, Verdict.FAILED, "undecided", FAILED.reason),
        (FINE, UNSUPPORTED, Verdict.FAILED, "worse", UNSUPPORTED.reason),
        (FINE, ABSENT, Verdict.MISSING, "undecided", ABSENT.reason),
        (FAILED, FINE, Verdict.RECOVERED, "aside", f"the old side failed: {FAILED.reason}"),
        (UNEQUAL, FINE, Verdict.RECOVERED, "aside", "the old answer was not equal to the reference"),
        (ABSENT, FINE, Verdict.ADDED, "aside", ABSENT.reason),
    ],
)
def test_without_two_costs_there_is_a_verdict_all_the_same(
    old: Answer, new: Answer, verdict: Verdict, outcome: Outcome, reason: str
) -> None:
    assert verdict_without_costs(CaseResults(1, (old,)), CaseResults(1, (new,))) == (verdict, outcome, reason)


def test_two_costs_are_compared() -> None:
    assert verdict_without_costs(CaseResults(1, (FINE,)), CaseResults(1, (FINE,))) is None
