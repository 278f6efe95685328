"""Random tensors that are the same bits on every machine, for every NumPy version.

Philox is a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). NumPy may
change what the methods of `Generator` return, but not the raw 64-bit words of a bit generator (NEP 19), so only those
are used. They become float32 by operations that are exact, or are one single IEEE 754 operation:

    raw word ──► upper 24 bits k ──► k / 2²⁴ ──► − 1/2 + 2⁻²⁵ ──► × 2 ──► in (−1, 1), symmetric, never zero
                                     exact       exact             exact
"""

import hashlib
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

_CHUNK = 1 << 20
"""Words drawn at a time, so that a large tensor needs no large array of words."""


def generator(name: str) -> np.random.Philox:
    """Return the bit generator that belongs to a name.

    `name`: any text; its SHA-256 gives the 128-bit key (first 16 bytes, little endian).
    """
    return np.random.Philox(key=int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little"))


def words(name: str, count: int) -> npt.NDArray[np.uint64]:
    """Return the first `count` raw 64-bit words of a name's stream."""
    return np.asarray(generator(name).random_raw(count), dtype=np.uint64)


def integers(name: str, count: int, bits: int = 24) -> npt.NDArray[np.int64]:
    """Return `count` uniform integers in [0, 2^bits): the upper bits of each raw word."""
    return (words(name, count) >> np.uint64(64 - bits)).astype(np.int64)


def symmetric(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return uniform float32 values in (−1, 1), symmetric about zero, never zero.

    The smallest magnitude is 2⁻²⁴, so nothing scaled from it by a reasonable factor is denormal.
    """
    out = np.empty(math.prod(shape), dtype=np.float32)
    stream = generator(name)
    for part in _parts(out):
        raw = np.asarray(stream.random_raw(part.size), dtype=np.uint64) >> np.uint64(40)
        # 24 bits fit a float32's significand; each of the next three results does as well.
        np.multiply(raw, 2.0**-24, out=part, dtype=np.float32, casting="unsafe")
        np.subtract(part, np.float32(0.5), out=part)
        np.add(part, np.float32(2.0**-25), out=part)
        np.multiply(part, np.float32(2.0), out=part)
    return out.reshape(shape)


def scaled(name: str, shape: tuple[int, ...], *, mean: float = 0.0, std: float = 1.0) -> npt.NDArray[np.float32]:
    """Return uniform float32 values of a given mean and standard deviation.

    One IEEE multiplication by √3·std (the square root is correctly rounded), then one addition of the mean, each
    rounded once: the same bits everywhere. A zero `std` gives a constant.
    """
    if std == 0:
        return np.full(shape, mean, dtype=np.float32)
    values = symmetric(name, shape)
    values *= np.float32(std * math.sqrt(3.0))
    if mean != 0:
        values += np.float32(mean)
    return values


def _parts(flat: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK]
