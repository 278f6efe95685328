"""One flipped bit in the weights, as memory flips it: after their digests were checked, and before they are loaded.

Trials use it to show that a node which computes wrongly is found; nothing that is measured has a fault.
"""

import tempfile
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from suite.backends import onnx_graph
from suite.backends.protocol import Source
from suite.worker.messages import Fault


def flipped(source: Source, fault: Fault | None) -> Source:
    """Return a source with one bit flipped; what it was made from stays as it is.

    Parameters
    ----------
    source
        What a backend is given to load.
    fault
        Which bit; None: none.

    Raises
    ------
    ValueError
        There is no such bit, or the ONNX file has its weights in a file of their own.
    """
    if fault is None:
        return source
    if source.file is None:
        if fault.tensor not in source.weights:
            raise ValueError(f"There is no tensor {fault.tensor!r} in which a bit could be flipped.")
        array = np.array(source.weights[fault.tensor], dtype="<f4", order="C", copy=True)
        flip(array.reshape(-1).view("<u4"), fault)
        return msgspec.structs.replace(source, weights=source.weights | {fault.tensor: array})
    content = bytearray(source.file.read_bytes())
    start, size_bytes = onnx_graph.place_of(memoryview(bytes(content)), fault.tensor)
    flip(np.frombuffer(content, "<u4", size_bytes // 4, start), fault)
    path = Path(tempfile.mkdtemp(prefix="levelfield-fault-")) / source.file.name
    path.write_bytes(content)
    return msgspec.structs.replace(source, file=path)


def flip(numbers: npt.NDArray[np.uint32], fault: Fault) -> None:
    """Flip the bit in place; raises `ValueError` where there is none.

    Parameters
    ----------
    numbers
        The tensor's elements as whole numbers of 32 bits.
    fault
        Which bit.
    """
    if not (0 <= fault.element < numbers.size and 0 <= fault.bit < 32):
        raise ValueError(f"{fault.tensor} has no bit {fault.bit} in an element {fault.element}.")
    numbers[fault.element] ^= np.uint32(1 << fault.bit)
