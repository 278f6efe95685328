"""The digits, split once and for all into what is trained on and what is tested on, and the order of batches by seed.

Split and order are sorts of a name's raw random words, so that they are the same with every NumPy. A pixel k of 0 … 16
becomes (k − 8) / 8, which float32 holds exactly.
"""

import functools
import gzip
import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import SEED, Arrays, sha256

FILE = Path(__file__).with_name("digits.csv.gz")
FILE_SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
"""Of the file as scikit-learn 1.9.1 ships it (`SOURCE.md`)."""
FILE_BYTES = 57_523
SOURCE_VERSION = "1.9.1"
ITEMS = 1797
PIXELS = 64
CLASSES = 10
TESTED = 360
"""Images that are never trained on: a fifth."""


class Split(NamedTuple):
    """Images, as a model takes them, with their labels (int32, `labels`)."""

    train: Arrays
    test: Arrays


def load(model: Model, path: Path | None = None) -> Split:
    """Return the digits in the shape of a model's only input.

    Raises ValueError: the file is missing, or is not the one that was published.
    """
    (only,) = model.inputs
    if math.prod(only.shape) != PIXELS:
        raise ValueError(f"{model.title} does not take images of {PIXELS} pixels.")
    table = _table(path or FILE)
    pixels = (table[:, :PIXELS].astype(np.float32) - np.float32(8)) * np.float32(2.0**-3)
    images = pixels.reshape(-1, *only.shape)
    labels = table[:, PIXELS].astype(np.int32)
    shuffled = order(f"{SEED}/digits/split", len(table))
    test, train = np.sort(shuffled[:TESTED]), np.sort(shuffled[TESTED:])
    return Split(
        train={only.name: images[train], "labels": labels[train]},
        test={only.name: images[test], "labels": labels[test]},
    )


@functools.cache
def _table(path: Path) -> npt.NDArray[np.int64]:
    """Read the file, shape (1797, 65): pixels and the digit."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"The digits cannot be read from {path.name}: {error.strerror}. Install Levelfield again."
        ) from (error)
    found = hashlib.sha256(raw).hexdigest()
    if found != FILE_SHA256:
        raise ValueError(
            f"{path.name} is not the file that scikit-learn published: its SHA-256 is {found[:12]}…, and should be "
            f"{FILE_SHA256[:12]}…. Install Levelfield again."
        )
    return np.loadtxt(gzip.decompress(raw).decode("ascii").split(), dtype=np.int64, delimiter=",")


def order(name: str, count: int) -> npt.NDArray[np.int64]:
    """Return 0 … `count` - 1 in a random order that belongs to a name."""
    return np.argsort(bits.words(name, count), kind="stable")


def schedule(seed: int, steps: int, batch: int) -> npt.NDArray[np.int32]:
    """Return which images each step is trained on, shape (steps, batch).

    Every epoch has an order of its own; what is left over after its last whole batch is left out of it.
    """
    items = ITEMS - TESTED
    epochs = (order(f"{SEED}/digits/order/{seed}/{epoch}", items) for epoch in range(-(-steps // (items // batch))))
    whole = [epoch[: items // batch * batch].reshape(-1, batch) for epoch in epochs]
    return np.concatenate(whole)[:steps].astype(np.int32)


def batches(data: Arrays, chosen: npt.NDArray[np.int32]) -> Iterator[Arrays]:
    """Go through a schedule: each row becomes a batch, in new memory, C order.

    `chosen`: a schedule: images of every step, shape (steps, batch).
    """
    for row in chosen:
        yield {name: np.ascontiguousarray(array[row]) for name, array in data.items()}


def inputs_sha256(split: Split, chosen: npt.NDArray[np.int32] | None = None) -> str:
    """Return the digest of everything that is trained on and tested with, and of the order where one is given.

    `chosen`: the schedule of a training; None: it is left out.
    """
    named = {f"train {name}": array for name, array in split.train.items()}
    named |= {f"test {name}": array for name, array in split.test.items()}
    return sha256(named if chosen is None else {**named, "order": chosen})
