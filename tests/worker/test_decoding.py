"""The timed calls of prefill, decode and generate, over the reference itself as a backend with a cache."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from levelfield.backends.decoding import Decoder, DecodingSource
from levelfield.backends.protocol import Options, Resident, Source, Step, Unsupported
from levelfield.worker import decoding as worker
from levelfield.worker.messages import Task
from levelfield.worker.sources import inputs_of
from levelfield.zoo import decoding, models, weights
from levelfield.zoo.decoder import reference
from levelfield.zoo.decoding import Call

MODEL = models.get("decoder")
FEW = 3


class Plain:
    """Loads nothing."""

    version = "1"

    def __init__(self, _: Options) -> None: ...

    def load(self, source: Source) -> Step:
        raise NotImplementedError

    def settings(self) -> dict[str, str]:
        return {}


class FromTokens(Plain):
    """Keeps the tokens in place of keys and values, and computes all of them in every call."""

    def load_decoding(self, source: DecodingSource) -> Decoder:
        if source.growing:
            return self._growing(source)

        def extend(cache: Any, input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
            assert input_ids.shape[1] in {source.tokens, source.prompt}
            assert input_ids.flags.c_contiguous
            end = start + input_ids.shape[1]
            cache[:, start:end] = input_ids
            return reference.logits(source.weights, cache[:, :end], end - 1)[:, 0].astype(np.float32)

        return Decoder(lambda: np.zeros((source.batch, 64), np.int32), extend)

    def _growing(self, source: DecodingSource) -> Decoder:
        def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
            assert cache[0].shape[1] == start, "as long as what is in it"
            cache[0] = np.concatenate([cache[0], input_ids], axis=1)
            return reference.logits(source.weights, cache[0], cache[0].shape[1] - 1)[:, 0].astype(np.float32)

        return Decoder(lambda: [np.zeros((source.batch, 0), np.int32)], extend, branch=list)


@pytest.fixture(scope="module")
def made() -> weights.Arrays:
    return weights.make(MODEL)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "STEPS", FEW)


def loaded(kind: decoding.Kind, made: weights.Arrays, *, growing: bool) -> tuple[Resident, Task, Call]:
    task = Task("torch", "decoder", 2, 1, scenario=kind, depth=4, growing_cache=growing)
    call = worker.call_of(task)
    assert call == Call(kind, 4)
    return worker.load(FromTokens(Options(1)), task, Source("decoder", 2, made, {}), call), task, call


@pytest.mark.sampled(2)
@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("kind", decoding.KINDS)
def test_calls_give_the_logits_of_the_reference_again_and_again(
    kind: decoding.Kind, made: weights.Arrays, *, growing: bool
) -> None:
    model, task, call = loaded(kind, made, growing=growing)
    batches = [inputs_of(task, first) for first in (0, 2)]
    placed = [model.place(each) for each in batches]
    for _ in range(2):  # a cache that was written before must not change the answer
        for each, inputs in zip(placed, batches, strict=True):
            output = np.array(model.fetch(model.run(each)))
            expected = decoding.reference(MODEL, made, call, inputs[decoding.INPUT])
            assert output.shape == expected.shape
            assert np.allclose(output, expected, rtol=0, atol=1e-5)


def test_a_backend_without_a_cache_is_refused(made: weights.Arrays) -> None:
    task = Task("canary", "decoder", 1, 1, scenario="decode", depth=4)
    with pytest.raises(Unsupported, match="canary keeps no cache of keys and values"):
        worker.load(Plain(Options(1)), task, Source("decoder", 1, made, {}), Call("decode", 4))
