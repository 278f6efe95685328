"""The GPUs that this process is meant to use, by `CUDA_VISIBLE_DEVICES`: the others are reserved for other users.

References
----------
NVIDIA, CUDA C++ Programming Guide, "CUDA Environment Variables": indices or UUIDs, in order; what follows an entry that
is none is hidden too. CUDA counts the fastest GPU first and NVML by bus, so that an index means the same to both where
all GPUs are alike, or where CUDA_DEVICE_ORDER is PCI_BUS_ID.
"""

import os
from collections.abc import Callable, Mapping

import msgspec

from suite.compatibility.devices import Nvidia
from suite.errors import LevelfieldError
from suite.machine.devices import index_of

VARIABLE = "CUDA_VISIBLE_DEVICES"


def only_visible(
    found: Nvidia, variables: Mapping[str, str] = os.environ, index: Callable[[str], int] = index_of
) -> Nvidia:
    """Leave out the GPUs that the variable hides; all stay where it is not set.

    Parameters
    ----------
    found
        All GPUs of the machine.
    variables
        Environment variables; `VARIABLE` holds indices or UUIDs, separated by commas.
    index
        Returns the index of a UUID.
    """
    asked = variables.get(VARIABLE)
    if asked is None or not found.gpus:
        return found
    shown = _indices(asked, index)
    kept = tuple(gpu for gpu in found.gpus if gpu.index in shown)
    hidden = tuple(gpu.index for gpu in found.gpus if gpu.index not in shown)
    return msgspec.structs.replace(found, gpus=kept, hidden=hidden)


def _indices(asked: str, index: Callable[[str], int]) -> set[int]:
    shown: set[int] = set()
    for word in (part.strip() for part in asked.split(",")):
        try:
            shown.add(index(word))
        except LevelfieldError:  # `-1`, a slice, a GPU that is not here: CUDA reads no further either
            break
    return shown
