"""Which models answer token by token, at which depths, and what is refused."""

import msgspec
import pytest

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make
from levelfield.plan.decoding import call_of
from levelfield.plan.types import FileKey, why_absent
from levelfield.zoo.decoding import Call

CPUS = (0, 1)
ALL = ("prefill", "decode", "generate")


def ids(selection: Selection) -> list[str]:
    return [block.case.id for block in make(selection, available=CPUS).blocks]


def test_a_scenario_of_it_is_of_the_models_that_decode() -> None:
    made = make(Selection(scenarios=ALL), available=CPUS)
    assert made.models == ("decoder",)
    assert [block.case.id for block in made.blocks] == [
        f"decoder/{scenario}/fp32/b1/t2/cpu/d{depth}" for scenario in ALL for depth in (128, 384)
    ]
    assert [call_of(block.case) for block in made.blocks[:2]] == [Call("prefill", 128), Call("prefill", 384)]
    assert {arm.backend for arm in made.blocks[0].arms} == set(registry.names())
    assert made.files == (FileKey("decoder", "fp32-cached", 1),)


def test_a_growing_cache_is_a_case_of_its_own() -> None:
    made = make(Selection(scenarios=("decode",), depths=(5,), kv_caches=("growing", "static")), available=CPUS)
    static, growing = made.blocks
    assert [static.case.id, growing.case.id] == [
        "decoder/decode/fp32/b1/t2/cpu/d5",
        "decoder/decode/fp32/b1/t2/cpu/d5/growing",
    ]
    assert static.case.question != growing.case.question
    assert {arm.backend for arm in growing.arms} == set(registry.names()), "absent with a reason, and not left out"
    assert [why_absent(static.case, arm) for arm in static.arms] == [""] * len(static.arms)
    reasons = {arm.backend: why_absent(growing.case, arm) for arm in growing.arms}
    assert reasons["torch"] == reasons["onnxruntime"] == ""
    assert reasons["jax"].startswith("jax keeps no growing cache here: XLA compiles for fixed shapes, ")
    assert set(made.files) == {FileKey("decoder", "fp32-cached", 1), FileKey("decoder", "fp32-grown", 1)}


def test_a_plan_is_made_again_from_what_a_record_says() -> None:
    """Throughput has batches of its own, and tokens one by one theirs."""
    chosen = Selection(models=("decoder",), scenarios=("throughput", "decode"), depths=(5,), kv_caches=("growing",))
    made = make(chosen, available=CPUS)
    assert (made.batches, made.decoding_batches) == ({"decoder": (4,)}, {"decoder": (1,)})
    recorded = msgspec.structs.replace(
        chosen, profile="full", batches_of=made.batches, decoding_batches_of=made.decoding_batches
    )
    assert ids(recorded) == [block.case.id for block in made.blocks]


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(scenarios=("decode",), depths=(0,)), "There is no decode at a depth of 0"),
        (Selection(scenarios=("generate",), depths=(128, 385)), "takes 513 tokens, and the context is 512"),
        (Selection(scenarios=("decode",), depths=(7, 7)), "--depths names 7 twice"),
        (Selection(scenarios=("latency",), depths=(7,)), "none of them is measured"),
        (Selection(scenarios=("latency",), kv_caches=("growing",)), "--kv-cache is of prefill, decode and generate"),
        (Selection(scenarios=("decode",), kv_caches=("growin",)), "growin"),
        (Selection(scenarios=("decode",), models=("bert",)), "bert does not answer token by token"),
        (Selection(scenarios=("decode",), precisions=("bf16",)), "decode is measured in fp32 alone"),
        (Selection(scenarios=("decode", "latency"), models=("vit",)), "and none of these does"),
        (Selection(scenarios=("decode",), batches=(1, 65536)), "takes 256.0 GiB in a batch of 65536"),
    ],
)
def test_what_cannot_be_is_refused(selection: Selection, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        make(selection, available=CPUS)
