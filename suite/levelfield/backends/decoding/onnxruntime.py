"""ONNX Runtime: caches are bound as inputs and as outputs at once, so that its kernels write them in place.

The kernel of ScatterND copies its input unless that is its output's own memory
(https://github.com/microsoft/onnxruntime, `scatter_nd.cc`). Caches that grow are outputs of one call and inputs of the
next, as values of ONNX Runtime's that nothing copies.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.decoding.protocol import Decoder, DecodingSource
from levelfield.zoo import decoding, models
from levelfield.zoo.spec import Decoding


def decoder(ort: Any, session: Any, found: Decoding, source: DecodingSource) -> Decoder:  # noqa: ANN401
    """Return a decoder on the CPU with caches of a fixed size."""
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


def growing(ort: Any, session: Any, found: Decoding, source: DecodingSource) -> Decoder:  # noqa: ANN401
    """Return a decoder on the CPU with caches that grow."""
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
