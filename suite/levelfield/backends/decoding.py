"""Autoregressive decoding: what a backend gives that answers token by token, and each framework's KV cache."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import decoding, models
from levelfield.zoo.spec import Decoding
from levelfield.zoo.weights import Arrays


class DecodingSource(msgspec.Struct, frozen=True):
    """What a backend is given to decode with."""

    model: str
    batch: int
    weights: Arrays
    """Empty for backends that read files."""
    tokens: int
    """Computed at once in a timed call."""
    prompt: int
    """Computed at once before timed calls, to fill the cache; 0: nothing is."""
    file: Path | None = None
    """A file that takes any number of tokens, and caches as inputs and outputs."""
    growing: bool = False
    """Whether caches are as long as what is in them, and longer after every call; else they have the context's size."""


class Decoder(msgspec.Struct, frozen=True):
    """A model with a cache, which stays with the framework."""

    new_cache: Callable[[], Any]
    """Return a cache in which nothing stands."""
    extend: Callable[[Any, npt.NDArray[np.int32], int], npt.NDArray[np.float32]]
    """The timed call: compute tokens, int32 of shape (batch, tokens), that begin at a position, with what the cache has
    of those before it; keep them in the cache, and return the logits of what follows, float32 of shape (batch,
    vocabulary), in host memory. The array may be one that the next call overwrites."""
    one_cache: bool = False
    """Whether a new cache takes the place of the one before."""
    branch: Callable[[Any], Any] = lambda cache: cache
    """Return a cache to extend, so that the one given can be extended again from where it stands; part of the timed
    call. Caches of a fixed size are written over, and need no other."""


@runtime_checkable
class DecodingBackend(Protocol):
    """A backend that can answer token by token (scenarios `prefill`, `decode` and `generate`)."""

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Build the model, and compile it for the numbers of tokens of the source; raises as `load` does."""
        ...


def with_jax(
    jax: Any,  # noqa: ANN401 (a module)
    network: Any,  # noqa: ANN401 (a module)
    weights: Any,  # noqa: ANN401 (arrays of JAX's)
    source: DecodingSource,
    compiler: dict[str, bool],
    *,
    frozen: bool,
) -> Decoder:
    """Return a decoder, compiled ahead of time for its numbers of tokens.

    Caches are written by `dynamic_update_slice` and donated, so that XLA may write them in place.
    """
    batch = source.batch

    def compiled(tokens: int) -> Callable[..., Any]:
        ids = jax.ShapeDtypeStruct((batch, tokens), np.int32)
        start = jax.ShapeDtypeStruct((), np.int32)
        caches = jax.eval_shape(lambda: network.empty(batch))
        if frozen:
            function = jax.jit(partial(network.cached, weights), donate_argnums=2)
            return function.lower(ids, start, caches).compile(compiler)  # type: ignore[no-any-return]
        function = jax.jit(network.cached, donate_argnums=3)
        return partial(function.lower(weights, ids, start, caches).compile(compiler), weights)

    calls = {tokens: compiled(tokens) for tokens in {source.tokens, source.prompt} - {0}}

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        logits, cache[:] = calls[input_ids.shape[1]](input_ids, np.int32(start), cache)
        return np.asarray(logits)

    return Decoder(lambda: network.empty(batch), extend)


def with_tensorflow(tf: Any, network: Any, weights: dict[str, Any], source: DecodingSource, *, xla: bool) -> Decoder:  # noqa: ANN401
    """Return a decoder of one cache: variables of a fixed shape, which the traced functions have in them."""
    caches = network.empty(source.batch)

    def traced(tokens: int) -> Any:  # noqa: ANN401 (a concrete function)
        signature = [tf.TensorSpec((source.batch, tokens), tf.int32), tf.TensorSpec((tokens,), tf.int32)]
        function = tf.function(
            lambda input_ids, positions: network.cached(weights, input_ids, positions, caches),
            input_signature=signature,
            jit_compile=xla or None,
            autograph=False,
        )
        return function.get_concrete_function()

    calls = {tokens: traced(tokens) for tokens in {source.tokens, source.prompt} - {0}}
    constant = tf.constant

    def new_cache() -> None:
        for cache in caches:
            cache.assign(tf.zeros_like(cache))

    def extend(cache: None, input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        del cache  # there is one, in the functions
        tokens = input_ids.shape[1]
        positions = np.arange(start, start + tokens, dtype=np.int32)
        return calls[tokens](constant(input_ids), constant(positions)).numpy()  # type: ignore[no-any-return]

    extend(None, np.zeros((source.batch, source.tokens), np.int32), source.prompt)  # XLA compiles by a call
    return Decoder(new_cache, extend, one_cache=True)


def with_torch(
    torch: Any,  # noqa: ANN401 (a module)
    network: Any,  # noqa: ANN401 (a module of torch's)
    shape: Decoding,
    source: DecodingSource,
    compiled: Callable[[Any], Any] | None,
    device: str = "cpu",
) -> Decoder:
    """Return a decoder whose caches are written in place by `index_copy_`, or grow by `torch.cat`.

    On CUDA it is unverified: caches stay there. Prompts that only fill a cache are computed eagerly.
    """
    shapes = shape.empty_shapes(source.batch, growing=source.growing).values()
    eager = network.grown if source.growing else network.cached
    timed = eager if compiled is None else compiled(eager)
    from_numpy, inference_mode, arange = torch.from_numpy, torch.inference_mode, torch.arange

    def new_cache() -> list[Any]:
        with inference_mode():
            return [torch.zeros(shape, device=device) for shape in shapes]

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        call = timed if start >= source.prompt else eager
        with inference_mode():
            positions = arange(start, start + input_ids.shape[1], device=device)
            return call(from_numpy(input_ids).to(device), positions, cache).cpu().numpy()  # type: ignore[no-any-return]

    if compiled is not None:
        cache = new_cache()
        if source.growing and source.prompt:
            extend(cache, np.zeros((source.batch, source.prompt), np.int32), 0)
        extend(cache, np.zeros((source.batch, source.tokens), np.int32), source.prompt)
    if source.growing:
        return Decoder(new_cache, extend, branch=list)
    return Decoder(new_cache, extend)


def with_onnxruntime(ort: Any, session: Any, found: Decoding, source: DecodingSource) -> Decoder:  # noqa: ANN401
    """Return a decoder on the CPU with caches of a fixed size.

    They are bound as inputs and as outputs at once, so that kernels write them in place: that of ScatterND copies its
    input unless that is its output's own memory (https://github.com/microsoft/onnxruntime, `scatter_nd.cc`).
    """
    output = models.get(source.model).output
    shapes = found.empty_shapes(source.batch, growing=False)
    value_of = ort.OrtValue.ortvalue_from_numpy
    answer = value_of(np.empty((source.batch, *output.shape), np.float32))
    run = session.run_with_iobinding

    def new_cache() -> Any:  # noqa: ANN401 (a binding)
        binding = session.io_binding()
        for name, shape in shapes.items():
            value = value_of(np.zeros(shape, np.float32))
            binding.bind_ortvalue_input(name, value)
            binding.bind_ortvalue_output(decoding.renewed(name), value)
        binding.bind_ortvalue_output(output.name, answer)
        return binding

    def extend(binding: Any, input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:  # noqa: ANN401
        binding.bind_cpu_input(decoding.INPUT, input_ids)
        binding.bind_cpu_input(decoding.POSITIONS, np.arange(start, start + input_ids.shape[1]))
        run(binding)
        return answer.numpy()  # type: ignore[no-any-return]

    return Decoder(new_cache, extend)


def with_onnxruntime_growing(ort: Any, session: Any, found: Decoding, source: DecodingSource) -> Decoder:  # noqa: ANN401
    """Return a decoder on the CPU with caches that grow: outputs of one call and inputs of the next, never copied."""
    shapes = found.empty_shapes(source.batch, growing=True)
    value_of, run = ort.OrtValue.ortvalue_from_numpy, session.run_with_ort_values
    inputs = decoding.input_names(found)
    outputs = [models.get(source.model).output.name, *map(decoding.renewed, shapes)]

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        tokens, positions = value_of(input_ids), value_of(np.arange(start, start + input_ids.shape[1]))
        logits, *cache[:] = run(outputs, dict(zip(inputs, (tokens, positions, *cache), strict=True)))
        return logits.numpy()  # type: ignore[no-any-return]

    def new_cache() -> list[Any]:
        return [value_of(np.zeros(shape, np.float32)) for shape in shapes.values()]

    return Decoder(new_cache, extend, branch=list)


def make_stateful(model: Any, shape: Decoding) -> None:  # noqa: ANN401 (a model of OpenVINO's)
    """Make the caches of a model its state, before it is compiled; each inference copies the whole of a fixed size.

    References
    ----------
    https://docs.openvino.ai/2025/openvino-workflow/running-inference/inference-request/stateful-models/obtaining-stateful-openvino-model.html
    """
    from openvino.passes import MakeStateful, Manager

    manager = Manager()
    manager.register_pass(MakeStateful({tensor.name: decoding.renewed(tensor.name) for tensor in shape.caches}))
    manager.run_passes(model)


def with_openvino(ov: Any, request: Any) -> Decoder:  # noqa: ANN401
    """Return a decoder of one cache, which is the request's."""
    tensor_of = ov.Tensor
    given: list[Any] = []  # what the request reads must outlive the call that gave it

    def extend(cache: None, input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        del cache  # it is the request's own
        given[:] = tensor_of(input_ids), tensor_of(np.arange(start, start + input_ids.shape[1]))
        request.set_tensor(decoding.INPUT, given[0])
        request.set_tensor(decoding.POSITIONS, given[1])
        request.infer(share_outputs=True)
        return request.get_output_tensor(0).data  # type: ignore[no-any-return]

    return Decoder(request.reset_state, extend, one_cache=True)


def with_openvino_growing(ov: Any, request: Any, shape: Decoding, source: DecodingSource) -> Decoder:  # noqa: ANN401
    """Return a decoder with caches that grow: each call writes new tensors, which the next reads where they are."""
    shapes = shape.empty_shapes(source.batch, growing=True)
    names = [(name, decoding.renewed(name)) for name in shapes]
    axis, tensor_of, kind, set_tensor = shape.token_axis, ov.Tensor, ov.Type.f32, request.set_tensor
    given: list[Any] = []  # what the request reads must outlive the call that gave it

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        end = start + input_ids.shape[1]
        given[:] = tensor_of(input_ids), tensor_of(np.arange(start, end))
        set_tensor(decoding.INPUT, given[0])
        set_tensor(decoding.POSITIONS, given[1])
        longer = [tensor_of(kind, [*size[:axis], end, *size[axis + 1 :]]) for size in shapes.values()]
        for (name, new_name), before, after in zip(names, cache, longer, strict=True):
            set_tensor(name, before)
            set_tensor(new_name, after)
        request.infer(share_outputs=True)
        cache[:] = longer
        return request.get_output_tensor(0).data  # type: ignore[no-any-return]

    def new_cache() -> list[Any]:
        return [tensor_of(kind, list(size)) for size in shapes.values()]

    return Decoder(new_cache, extend, branch=list)
