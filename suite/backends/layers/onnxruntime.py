"""Layers of an ONNX file in ONNX Runtime: every tensor between its nodes is made an output."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends import onnx_graph
from suite.backends.layers.onnx import require_held
from suite.backends.protocol import Arrays, See

_FOLDER = "session.model_external_initializers_file_folder_path"


def caller(
    ort: Any,  # noqa: ANN401
    options: Any,  # noqa: ANN401
    path: Path,
    providers: list[Any],
) -> Callable[[Arrays, See], npt.NDArray[np.float32]]:
    """Open a second session on a file, and return what computes a batch and shows what each node puts out.

    Parameters
    ----------
    ort
        The module `onnxruntime`.
    options
        Options of the first session, which it gets too.
    path
        The file.
    providers
        As the first session got them.

    Raises
    ------
    Unsupported
        A batch's tensors take more than is held.
    """
    content = path.read_bytes()
    own = onnx_graph.outputs(memoryview(content))
    names = [name for _, _, found in onnx_graph.nodes(memoryview(content)) for name in found if name]
    options.add_session_config_entry(_FOLDER, str(path.parent))
    between = [name for name in names if name not in own]
    session = ort.InferenceSession(onnx_graph.with_outputs(content, between), options, providers=providers)
    size_bytes = sum(_size_bytes(each.shape) for each in session.get_outputs())
    require_held(size_bytes)

    def call(inputs: Arrays, see: See) -> npt.NDArray[np.float32]:
        found = session.run(names, inputs)
        for name, output in zip(names, found, strict=True):
            see(name, output)
        return found[names.index(own[0])]  # type: ignore[no-any-return]

    return call


def _size_bytes(shape: list[Any]) -> int:
    """Return about how large a tensor is; of a dimension that is not known one is counted."""
    return 4 * math.prod(each if isinstance(each, int) else 1 for each in shape)
