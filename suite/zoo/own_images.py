"""A user's own images as workers read them: one NumPy file of 8-bit records, with labels and the split inside.

The file is made on the host (`suite.prepare.own_images`), so that no container needs a decoder. Pixels of training
images stay in 8 bits until they are a batch.
"""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.zoo.digits.data import Split, scaled
from suite.zoo.spec import Model

SHAPE = (3, 16, 16)
"""Channels, height and width of every image: a published size of ImageNet (Chrabaszcz et al., arXiv:1707.08819), at
which the float64 reference takes seconds."""
MOST_CLASSES = 1000
LEAST_CLASSES = 2
MOST_IMAGES = 60_000
"""In all: every worker holds them (768 bytes each), and a training takes 38,400 at the most."""
MOST_TESTED = 1_000
"""Images that are tested with at the most, at every evaluation."""
RECORD = np.dtype([("pixels", "u1", SHAPE), ("label", "<u2"), ("tested", "u1")])
"""One image: its pixels, the place of its folder among the sorted ones, and whether it is only tested with."""

Table = npt.NDArray[Any]


def read(path: Path) -> Table:
    """Read a file of records, shape (images,); the latest is kept, since every generation begins with it.

    Raises
    ------
    ValueError
        If the file is missing, or does not hold records of this version.
    """
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise ValueError(f"The images cannot be read from {path.name}: {error.strerror or error}.") from error


@functools.lru_cache(maxsize=1)
def _read(path: Path, changed_ns: int, size_bytes: int) -> Table:
    del changed_ns, size_bytes  # another file under the same name
    try:
        table: Table = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        table = np.empty(0)
    if table.dtype != RECORD or table.ndim != 1:
        raise ValueError(f"{path.name} does not hold images of this version of Levelfield.")
    classes = table["label"].max(initial=0) + 1
    if not LEAST_CLASSES <= classes <= MOST_CLASSES or table["tested"].all() or not table["tested"].any():
        raise ValueError(f"{path.name} holds no images to train on and to test with, of two classes or more.")
    table.flags.writeable = False
    return table


def classes(path: Path) -> int:
    """Return how many classes a file's images are of; raises as `read` does."""
    return int(read(path)["label"].max()) + 1


def load(model: Model, path: Path) -> Split:
    """Return a file's images in the shape of a model's only input; those that are trained on still in 8 bits.

    Parameters
    ----------
    model
        Its input has as many numbers as an image has.
    path
        The file.

    Raises
    ------
    ValueError
        As `read`; and if the model is none for such images.
    """
    table = read(path)
    (only,) = model.inputs
    if np.prod(only.shape) != np.prod(SHAPE):
        raise ValueError(f"{model.title} does not take images of {'×'.join(map(str, SHAPE))}.")
    parts = []
    for tested in (0, 1):
        chosen = table[table["tested"] == tested]
        pixels = np.ascontiguousarray(chosen["pixels"]).reshape(-1, *only.shape)
        parts.append({only.name: pixels, "labels": chosen["label"].astype(np.int32)})
    train, test = parts
    test[only.name] = scaled(test[only.name])
    return Split(train=train, test=test)
