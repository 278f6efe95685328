"""What a worker must know of a user's own file, as plain data: a worker imports it before NumPy."""

import msgspec

FLOATING = ("float16", "float32", "float64")
INTEGER = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
DTYPES = (*FLOATING, *INTEGER, "bool")
"""Types of inputs that there are values for."""


class Input(msgspec.Struct, frozen=True):
    """An input of the file."""

    name: str
    dtype: str
    """One of `DTYPES`."""
    shape: tuple[int, ...]
    """Without its batch."""
    batched: bool
    """Whether it begins with the batch."""
    path: str | None = None
    """A `.npy` file with the user's own values, as the reader of this sees it; None: they are seeded."""


class Own(msgspec.Struct, frozen=True):
    """The file."""

    inputs: tuple[Input, ...]
