"""Items of a data set, prepared once on the host, as a worker reads them and gives them to its model.

A file is one NumPy array of records (`.npy`), one record an item: a picture's pixels in 8 bits, or a text's tokens.
What a model takes of a picture is computed here, as torchvision does it: divided by 255, less the mean, over the
standard deviation of ImageNet's channels, in float32.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends import registry
from levelfield.backends.protocol import Arrays, Resident
from levelfield.worker.messages import Predict, Predicted, Task
from levelfield.zoo import models
from levelfield.zoo.spec import Model

PIXELS = "pixels"
"""Field of a picture's record: uint8, shape (height, width, 3)."""
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
"""Of ImageNet's channels, as torchvision's models take them."""

Records = npt.NDArray[Any]


def record_of(model: Model) -> np.dtype[Any]:
    """Return the type of a record that a model's inputs are made from."""
    only = model.inputs[0]
    if len(only.shape) == 3:
        return np.dtype([(PIXELS, "u1", (*only.shape[1:], only.shape[0]))])
    return np.dtype([(tensor.name, np.dtype(tensor.dtype).newbyteorder("<"), tensor.shape) for tensor in model.inputs])


def read(path: Path, model: Model) -> Records:
    """Map a file of records into memory, shape (items,); raises ValueError where it holds none for this model."""
    try:
        table: Records = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"The items cannot be read from {path.name}: {error}.") from error
    if table.ndim != 1 or table.dtype != record_of(model):
        raise ValueError(f"{path.name} does not hold items for {model.title}.")
    return table


def inputs_of(records: Records, model: Model, *, layout: str = "NCHW") -> Arrays:
    """Return what a model takes of records, its images in the layout of memory that the backend likes."""
    if records.dtype.names != (PIXELS,):
        return {tensor.name: np.ascontiguousarray(records[tensor.name]) for tensor in model.inputs}
    scaled = normalised(records[PIXELS]).transpose(0, 3, 1, 2)
    return {model.inputs[0].name: scaled if layout == "NHWC" else np.ascontiguousarray(scaled)}


def normalised(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return pixels as networks take them, channels last as they are."""
    scaled: npt.NDArray[np.float32] = (pixels.astype(np.float32) / np.float32(255) - MEAN) / DEVIATION
    return scaled


def digest(records: Records) -> str:
    """Return the SHA-256 of records as a file holds them."""
    return hashlib.sha256(np.ascontiguousarray(records).tobytes()).hexdigest()


def predict(request: Predict, task: Task, model: Resident) -> Predicted:
    """Run a loaded model over items; the last batch is filled up with its last item, whose further answers are dropped.

    Raises ValueError: the file has no such items.
    """
    definition = models.get(task.model)
    table = read(Path(request.path), definition)
    chosen = table[request.first : request.first + request.count]
    if request.first < 0 or request.count < 1 or len(chosen) != request.count:
        raise ValueError(f"{request.path} has {len(table)} items, not {request.first + request.count}.")
    layout = registry.get(task.backend).layout
    answers = []
    for start in range(0, request.count, task.batch):
        some = chosen[start : start + task.batch]
        full = np.concatenate([some, np.repeat(some[-1:], task.batch - len(some))]) if len(some) < task.batch else some
        placed = model.place(inputs_of(full, definition, layout=layout))
        answers.append(np.array(model.fetch(model.run(placed)), dtype="<f4", copy=True)[: len(some)])
    output = np.concatenate(answers)
    return Predicted(output.shape, output.tobytes(), digest(chosen))
