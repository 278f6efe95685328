"""The timed calls of `prefill`, `decode` and `generate`, on whatever backend can answer token by token."""

from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.decoding import Decoder, DecodingBackend, DecodingSource
from levelfield.backends.protocol import Arrays, Backend, Resident, Source, Unsupported
from levelfield.worker.messages import Task
from levelfield.zoo import models
from levelfield.zoo.decoding import INPUT, KINDS, Call, output_shape


def call_of(task: Task) -> Call | None:
    """Return what a call of a task computes where it answers token by token; None: it does not."""
    kind = next((each for each in KINDS if each == task.scenario), None)
    return Call(kind, task.depth) if kind is not None else None


def load(backend: Backend, task: Task, source: Source, call: Call) -> Resident:
    """Load a model to answer token by token; raises Unsupported where the backend keeps no cache."""
    if not isinstance(backend, DecodingBackend):
        raise Unsupported(f"{task.backend} keeps no cache of keys and values: ask for latency, of whole prompts.")
    needs = DecodingSource(
        model=task.model,
        batch=task.batch,
        weights=source.weights,
        tokens=call.tokens,
        prompt=call.prompt,
        file=source.file,
        growing=task.growing_cache,
    )
    decoder = backend.load_decoding(needs)
    if call.kind == "prefill":
        return _prefill(decoder)
    shape = output_shape(models.get(task.model), call)
    return _steps(decoder, call, (task.batch, *shape))


def _prefill(decoder: Decoder) -> Resident:
    """Compute prompts, all into the same cache, or each into one of its own."""
    cache, extend, branch = decoder.new_cache(), decoder.extend, decoder.branch
    return Resident(
        place=lambda inputs: inputs[INPUT], run=lambda input_ids: extend(branch(cache), input_ids, 0), fetch=_unchanged
    )


def _steps(decoder: Decoder, call: Call, shape: tuple[int, ...]) -> Resident:
    """Compute single tokens after a prompt, which is computed when inputs are placed."""
    extend, branch, depth, steps = decoder.extend, decoder.branch, call.depth, call.steps

    def place(inputs: Arrays) -> tuple[Any, list[npt.NDArray[np.int32]]]:
        ids = inputs[INPUT].astype(np.int32, copy=False)
        cache = decoder.new_cache()
        extend(cache, np.ascontiguousarray(ids[:, :depth]), 0)
        return cache, [np.ascontiguousarray(ids[:, at : at + 1]) for at in range(depth, depth + steps)]

    def decode(placed: tuple[Any, list[npt.NDArray[np.int32]]]) -> npt.NDArray[np.float32]:
        cache, (token,) = placed
        return extend(branch(cache), token, depth)

    def generate(placed: tuple[Any, list[npt.NDArray[np.int32]]]) -> npt.NDArray[np.float32]:
        cache, tokens = placed
        cache, logits = branch(cache), np.empty(shape, np.float32)
        for step, token in enumerate(tokens):
            logits[:, step] = extend(cache, token, depth + step)
        return logits

    run = generate if call.kind == "generate" else decode
    return Resident(place=place, run=run, fetch=_unchanged, one_at_a_time=decoder.one_cache)


def _unchanged(value: Any) -> Any:  # noqa: ANN401  (any value)
    return value
