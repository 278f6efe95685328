"""Outputs of a user's own file: one array or several, copied out of a framework's memory into one format."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.worker.messages import Output


def copies(answer: Any) -> list[npt.NDArray[np.generic]]:  # noqa: ANN401  (an array of NumPy's, or several)
    """Return copies of all outputs of one call: the next one may overwrite them."""
    return [np.array(each, copy=True) for each in (answer if isinstance(answer, list | tuple) else [answer])]


def concatenated(calls: Sequence[Sequence[npt.NDArray[np.generic]]]) -> tuple[Output, ...]:
    """Put the calls' outputs one after the other, each output by itself.

    Outputs whose shape is another in every call (of boxes that were found, say) are laid out flat.
    """
    found = []
    for each in zip(*calls, strict=True):
        same_shape = len({array.shape[1:] for array in each}) == 1 and all(array.ndim for array in each)
        joined = np.concatenate([array if same_shape else array.reshape(-1) for array in each])
        exact = not np.issubdtype(joined.dtype, np.floating)
        values = joined.astype("<f8" if exact or joined.dtype.itemsize > 4 else "<f4")
        found.append(Output(joined.shape, "<f8" if values.itemsize == 8 else "<f4", values.tobytes(), exact))
    return tuple(found)
