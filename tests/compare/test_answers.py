"""Answers to one case: when those of two sides are answers to the same question."""

import msgspec
import pytest

from suite.compare.types import Verdict
from tests.compare.runs import one, row, run, with_launches


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("inputs_sha256", "the inputs are not the same"),
        ("weights_sha256", "the weights are not the same"),
        ("onnx_sha256", "the ONNX model is not the same"),
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
