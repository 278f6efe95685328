"""An exception of a framework as a reply: one sentence, its kind, and the traceback for the record."""

import re
import sys
import traceback
from pathlib import Path

from levelfield.backends import cuda
from levelfield.backends.protocol import LoadsWith, Unsupported
from levelfield.worker.messages import Failed
from levelfield.worker.training import DivergedError

MESSAGE_CHARS = 500
DETAIL_CHARS = 4000
"""How much of a traceback travels."""
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError: CUDA|RESOURCE_EXHAUSTED|ResourceExhaustedError|CUDA_ERROR_OUT_OF_MEMORY|"
    r"Failed to allocate memory for requested buffer|CUDA failure 2: out of memory|CUDA error: out of memory|"
    r"CU(BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS_ALLOC_FAILED|OOM when allocating|BFCArena::AllocateRawInternal|"
    r"CUDNN_STATUS_INTERNAL_ERROR_(DEVICE|HOST)_ALLOCATION_FAILED|Dst tensor is not initialized|"
    r"TensorRT .*([Oo]ut of memory|OutOfMemory)|DefaultCPUAllocator: .*memory"
)
"""How torch, JAX, TensorFlow, ONNX Runtime and TensorRT, and the libraries beneath, say that no memory is left.
(TensorFlow's destination is not initialised where it could get no memory on the GPU to copy an input to.)"""


def failure(error: Exception, device: str) -> Failed:
    """Return the reply for an error that is being handled (its traceback is read)."""
    detail = without_folders(traceback.format_exc())[-DETAIL_CHARS:]
    if isinstance(error, MemoryError):
        return Failed("out-of-memory", "The worker ran out of memory.", detail)
    if _OUT_OF_MEMORY.search(f"{type(error).__name__}: {error}"):
        owner = "worker's" if device == "cpu" else "GPU's"
        what = f"The {owner} memory was not enough: take a smaller batch, or fewer backends at once."
        return Failed("out-of-memory", what, detail)
    if meaning := cuda.meaning(str(error)):
        return Failed("unsupported", meaning, detail)
    text = beginning(str(error), MESSAGE_CHARS) or "no message"
    if isinstance(error, Unsupported):
        return Failed("unsupported", text, detail)
    name = "" if isinstance(error, DivergedError | LoadsWith) else f"{type(error).__name__}: "  # its words are enough
    settings = error.settings if isinstance(error, LoadsWith) else {}
    return Failed("error", f"{name}{text}", detail, settings)


def beginning(text: str, longest: int) -> str:
    """Return a text on one line, cut off with an ellipsis beyond so many characters, after a word where one is near."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    end = line.rfind(" ", longest // 2, longest)
    return f"{line[: end if end > 0 else longest - 1]}…"


def without_folders(text: str) -> str:
    """Return a traceback whose files are named from the folder on that they were imported from.

    Where a person keeps an environment or a checkout is private, and a record is published.
    """
    folders = {str(Path(folder)) for folder in sys.path if folder and Path(folder).is_absolute()} - {"/"}
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(f'"{folder}/', '"')
    return text
