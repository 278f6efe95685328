"""Calls that answer token by token: their tokens, what they have to return, and how much they compute."""

import numpy as np
import pytest

from levelfield.zoo import decoder as spec
from levelfield.zoo import decoding, flops, models, weights
from levelfield.zoo.decoder import reference
from levelfield.zoo.decoding import Call

MODEL = models.get("decoder")


@pytest.fixture(scope="module")
def made() -> weights.Arrays:
    return weights.make(MODEL)


def test_no_token_sees_those_after_it(made: weights.Arrays) -> None:
    ids = decoding.inputs(MODEL, Call("prefill", 12), 0, 2)[decoding.INPUT]
    whole = reference.logits(made, ids, 0)
    changed = np.concatenate([ids[:, :8], ids[:, 8:] + 1], axis=1)
    assert np.array_equal(reference.logits(made, changed, 0)[:, :8], whole[:, :8])
    assert np.abs(reference.logits(made, changed, 0)[:, 8:] - whole[:, 8:]).max() > 0.1
    assert np.allclose(reference.logits(made, ids[:, :8], 7)[:, 0], whole[:, 7], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", decoding.KINDS)
def test_what_is_returned_are_the_logits_of_the_computed_tokens(
    made: weights.Arrays, kind: decoding.Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "STEPS", 4)
    call = Call(kind, 5)
    ids = decoding.inputs(MODEL, call, 0, 2)[decoding.INPUT]
    found = decoding.reference(MODEL, made, call, ids)
    assert found.shape == (2, *decoding.output_shape(MODEL, call))
    every = reference.logits(made, ids, 0)
    expected = {"prefill": every[:, 4:5], "decode": every[:, 5:6], "generate": every[:, 5:9]}[kind]
    assert np.allclose(found, expected.reshape(found.shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (Call("decode", 0), "There is no decode at a depth of 0"),
        (Call("prefill", -1), "There is no prefill at a depth of -1"),
        (Call("prefill", 513), "takes 513 tokens, and the context is 512"),
        (Call("decode", 512), "takes 513 tokens"),
        (Call("generate", 385), "takes 513 tokens"),
    ],
)
def test_what_the_cache_cannot_hold_has_a_reason(call: Call, says: str) -> None:
    assert MODEL.decoding is not None
    assert says in decoding.why_not(MODEL.decoding, call)


def test_a_step_reads_every_weight_that_is_multiplied_once() -> None:
    matrices = sum(each.count for each in MODEL.parameters if len(each.shape) == 2)
    table = spec.VOCABULARY * spec.HIDDEN
    step = flops.count(MODEL, 1, Call("decode", 128))
    assert step.weight_bytes == 4 * (matrices - table)
    # One token: each weight is one multiplication, and each key and value of each head of queries is one more.
    assert step.macs == matrices - table + spec.LAYERS * 2 * 129 * spec.HIDDEN
    assert flops.count(MODEL, 3, Call("decode", 128)).macs == 3 * step.macs
    assert flops.count(MODEL, 1, Call("prefill", spec.PROMPT)).macs == flops.count(MODEL).macs
