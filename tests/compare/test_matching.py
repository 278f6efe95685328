"""Which arm answers which: an upgrade is one thing, not one gone and another added; and nothing is guessed."""

import pytest

from levelfield.compare import matching
from levelfield.record.schema import Arm, Case

ORT = Arm("onnxruntime", "onnxruntime")
OLD_ORT = Arm("onnxruntime", "onnxruntime", version="1.30.0")
OLDER_ORT = Arm("onnxruntime", "onnxruntime", version="1.29.0")
SPUN = Arm("onnxruntime", "onnxruntime", settings={"spinning": "off"})
CU12, CU13 = Arm("torch", "torch", variant="cu12"), Arm("torch", "torch", variant="cu13")
TWICE = Arm("onnxruntime", "onnxruntime", ordinal=2)


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ([ORT], [ORT], [(ORT, ORT)]),
        ([OLD_ORT], [ORT], [(OLD_ORT, ORT)]),
        ([OLD_ORT], [OLDER_ORT], [(OLD_ORT, OLDER_ORT)]),
        ([OLD_ORT, ORT], [ORT], [(OLD_ORT, None), (ORT, ORT)]),
        ([OLD_ORT, ORT], [OLDER_ORT, ORT], [(OLD_ORT, OLDER_ORT), (ORT, ORT)]),
        ([OLD_ORT, OLDER_ORT], [ORT], [(OLD_ORT, None), (OLDER_ORT, None), (None, ORT)]),
        ([CU12], [CU13], [(CU12, CU13)]),
        ([SPUN], [ORT], [(SPUN, None), (None, ORT)]),
        ([TWICE], [ORT], [(TWICE, None), (None, ORT)]),
        ([], [ORT], [(None, ORT)]),
        ([], [], []),
    ],
)
def test_arms(old: list[Arm], new: list[Arm], pairs: list[tuple[Arm | None, Arm | None]]) -> None:
    found = matching.pair_arms({arm.id: arm for arm in old}, {arm.id: arm for arm in new})
    assert list(found) == [(first.id if first else "", second.id if second else "") for first, second in pairs]


def test_an_injected_slowdown_does_not_part_an_arm_from_itself() -> None:
    slowed = Arm("onnxruntime", "onnxruntime", version="1.30.0", inject="5%")
    assert matching.pair_arms({slowed.id: slowed}, {ORT.id: ORT}) == ((slowed.id, ORT.id),)


CASE = Case("mlp", "latency", "fp32", 1, 2)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Case("mlp", "latency", "fp32", 1, 4), "2 threads before, 4 now"),
        (Case("mlp", "latency", "bf16", 1, 2), "fp32 before, bf16 now"),
        (Case("mlp", "latency", "bf16", 1, 1, "cuda:0"), "2 threads before, 1 now, fp32 before, bf16 now, on cpu"),
        (Case("mlp", "latency", "fp32", 1, 2, processes=2), "in 1 process before, in 2 now"),
        (Case("mlp", "latency", "fp32", 1, 2, depth=5), "at a depth of 0 before, of 5 now"),
        (Case("mlp", "latency", "fp32", 1, 2, growing_cache=True), "with a static cache before, a growing one now"),
        (Case("mlp", "latency", "fp32", 8, 2), None),
        (Case("bert", "latency", "fp32", 1, 2), None),
        (Case("mlp", "throughput", "fp32", 1, 2), None),
    ],
)
def test_a_case_that_is_almost_the_same_is_named(other: Case, says: str | None) -> None:
    found = matching.similar_case(CASE, {other.id: other})
    if says is None:
        assert found is None
    else:
        assert found == other
        assert matching.describe_difference(CASE, other).startswith(says)


def test_of_two_that_are_almost_the_same_none_is_guessed() -> None:
    others = [Case("mlp", "latency", "fp32", 1, threads) for threads in (1, 4)]
    assert matching.similar_case(CASE, {other.id: other for other in others}) is None
