"""OpenVINO: caches are made variables of a stateful model, which each inference reads and writes.

A state of a fixed size is copied in every call: the plugin writes the new one beside the old one. Caches that grow are
inputs and outputs: each call writes new tensors, which the next one reads where they are.

References
----------
https://docs.openvino.ai/2025/openvino-workflow/running-inference/inference-request/stateful-models/obtaining-stateful-openvino-model.html
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.decoding.protocol import Decoder, DecodingSource
from levelfield.zoo.decoding import INPUT, POSITIONS, renewed
from levelfield.zoo.spec import Decoding


def make_stateful(model: Any, decoding: Decoding) -> None:  # noqa: ANN401 (a model of OpenVINO's)
    """Make the caches of a model its state, before it is compiled."""
    from openvino.passes import MakeStateful, Manager

    manager = Manager()
    manager.register_pass(MakeStateful({tensor.name: renewed(tensor.name) for tensor in decoding.caches}))
    manager.run_passes(model)


def decoder(ov: Any, request: Any) -> Decoder:  # noqa: ANN401
    """Return a decoder of one cache, which is the request's."""
    tensor_of = ov.Tensor
    given: list[Any] = []  # what the request reads must outlive the call that gave it

    def extend(cache: None, input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        del cache  # it is the request's own
        given[:] = tensor_of(input_ids), tensor_of(np.arange(start, start + input_ids.shape[1]))
        request.set_tensor(INPUT, given[0])
        request.set_tensor(POSITIONS, given[1])
        request.infer(share_outputs=True)
        return request.get_output_tensor(0).data  # type: ignore[no-any-return]

    return Decoder(request.reset_state, extend, one_cache=True)


def growing(ov: Any, request: Any, decoding: Decoding, source: DecodingSource) -> Decoder:  # noqa: ANN401
    """Return a decoder with caches that grow."""
    shapes = decoding.empty_shapes(source.batch, growing=True)
    names = [(name, renewed(name)) for name in shapes]
    axis, tensor_of, kind, set_tensor = decoding.token_axis, ov.Tensor, ov.Type.f32, request.set_tensor
    given: list[Any] = []  # what the request reads must outlive the call that gave it

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        end = start + input_ids.shape[1]
        given[:] = tensor_of(input_ids), tensor_of(np.arange(start, end))
        set_tensor(INPUT, given[0])
        set_tensor(POSITIONS, given[1])
        longer = [tensor_of(kind, [*shape[:axis], end, *shape[axis + 1 :]]) for shape in shapes.values()]
        for (name, new_name), before, after in zip(names, cache, longer, strict=True):
            set_tensor(name, before)
            set_tensor(new_name, after)
        request.infer(share_outputs=True)
        cache[:] = longer
        return request.get_output_tensor(0).data  # type: ignore[no-any-return]

    def new_cache() -> list[Any]:
        return [tensor_of(kind, list(shape)) for shape in shapes.values()]

    return Decoder(new_cache, extend, branch=list)
