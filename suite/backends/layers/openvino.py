"""Layers of an ONNX file in OpenVINO: every tensor that the file names is made an output."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends import onnx_graph
from suite.backends.layers.onnx import require_held
from suite.backends.protocol import Arrays, See


def caller(
    core: Any,  # noqa: ANN401
    path: Path,
    config: dict[str, Any],
) -> Callable[[Arrays, See], npt.NDArray[np.float32]]:
    """Compile a file once more, and return what computes a batch and shows what each of its nodes puts out.

    Parameters
    ----------
    core
        OpenVINO's.
    path
        The file.
    config
        Properties that the model is compiled with.

    Raises
    ------
    Unsupported
        A batch's tensors take more than is held.
    """
    model = core.read_model(path)
    ports = {name: port for each in model.get_ordered_ops() for port in each.outputs() for name in port.get_names()}
    content = memoryview(path.read_bytes())
    named = [name for _, _, found in onnx_graph.nodes(content) for name in found if name in ports]
    own = {name for port in model.outputs for name in port.get_names()}
    model.add_outputs([ports[name] for name in named if name not in own])
    compiled = core.compile_model(model, "CPU", config)
    size_bytes = sum(4 * math.prod(port.shape) for port in compiled.outputs if port.partial_shape.is_static)
    require_held(size_bytes)
    request = compiled.create_infer_request()

    def call(inputs: Arrays, see: See) -> npt.NDArray[np.float32]:
        request.infer(inputs)
        for name in named:
            see(name, request.get_tensor(name).data)
        return request.get_output_tensor(0).data  # type: ignore[no-any-return]

    return call
