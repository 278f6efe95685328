"""From a file's bytes to 8-bit RGB: NumPy arrays and PNM by itself, other formats by Pillow where that is installed."""

import importlib.util
import io
import re
import warnings
from importlib import metadata

import numpy as np
from numpy.lib import format as npy

from suite.prepare.own_images.resizing import MAX_SIDE, Pixels

PLAIN = (".npy", ".pgm", ".ppm")
WITH_PILLOW = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
MAX_BYTES = 64 << 20
"""Of one file."""
MAX_PIXELS = 64_000_000
"""Of one image: a small file may claim to be a huge one."""
_PNM = re.compile(rb"P(?P<kind>[56])" + 3 * rb"(?:\s|#[^\n]*\n)+(\d{1,6})" + rb"\s")
_PNM_HEADER_BYTES = 4096


class UnreadableError(Exception):
    """A file holds no image; the one argument says why, after its name and a colon."""


def decoder() -> str:
    """Return what reads the other formats, with its version; empty: nothing does."""
    return f"Pillow {metadata.version('pillow')}" if _has_pillow() else ""


def why_not(suffix: str) -> str:
    """Say why files with a suffix cannot be read; empty where they can."""
    kind = suffix.lower()
    if kind in PLAIN or (kind in WITH_PILLOW and _has_pillow()):
        return ""
    if kind in WITH_PILLOW:
        return f"{kind[1:].upper()} takes Pillow. Install `levelfield[pictures]`, or give {', '.join(PLAIN)}."
    known = (*PLAIN, *WITH_PILLOW)
    return f"it is no image by its name ({', '.join(known)})."


def decode(content: bytes, suffix: str) -> Pixels:
    """Return the pixels of an image file, shape (height, width, 3); grey ones are three times the same.

    Parameters
    ----------
    content
        The whole file: whatever it holds, a stranger may have written it.
    suffix
        Of its name.

    Raises
    ------
    UnreadableError
        It holds no image, or one that is too large.
    """
    kind = suffix.lower()
    if kind == ".npy":
        image = _array(content)
    elif kind in PLAIN:
        image = _pnm(content)
    else:
        image = _by_pillow(content)
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 3):
        shape = "×".join(map(str, image.shape))
        raise UnreadableError(f"its shape is {shape}, and should be height × width, or height × width × 3.")
    if not 1 <= min(image.shape[:2]) <= max(image.shape[:2]) <= MAX_SIDE:
        raise UnreadableError(f"its sides are {image.shape[0]} and {image.shape[1]} pixels (1 to {MAX_SIDE}).")
    return np.ascontiguousarray(np.broadcast_to(image, (*image.shape[:2], 3)))


def _array(content: bytes) -> Pixels:
    """Read a NumPy file, of which only the form of its header and plain bytes are believed."""
    stream = io.BytesIO(content)
    try:
        with warnings.catch_warnings(action="ignore"):  # of a header that Python 2 wrote
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(stream)
    except Exception as error:  # a header is a Python literal: a spoiled one raises a dozen kinds
        raise UnreadableError("it is no NumPy file.") from error
    if dtype != np.uint8 or len(shape) not in (2, 3):
        raise UnreadableError(f"it holds {len(shape)} dimensions of {dtype}, and should hold 2 or 3 of uint8.")
    rest = content[stream.tell() :]
    if any(side < 1 for side in shape) or int(np.prod(shape, dtype=object)) != len(rest):
        raise UnreadableError("it is not as long as its header says.")
    return np.frombuffer(rest, np.uint8).reshape(shape, order="F" if fortran else "C")


def _pnm(content: bytes) -> Pixels:
    """Read binary PGM (P5) and PPM (P6) with values up to 255."""
    header = _PNM.match(content[:_PNM_HEADER_BYTES])
    if header is None:
        raise UnreadableError("it is no binary PGM or PPM file (P5, P6).")
    width, height, most = (int(header[number]) for number in (2, 3, 4))
    channels = 1 if header["kind"] == b"5" else 3
    rest = content[header.end() :]
    if most != 255:
        raise UnreadableError(f"its values go up to {most}, and should up to 255.")
    if min(width, height) < 1 or len(rest) < width * height * channels:
        raise UnreadableError("it is not as long as its header says.")
    return np.frombuffer(rest, np.uint8, width * height * channels).reshape(height, width, channels)


def _by_pillow(content: bytes) -> Pixels:
    """Read whatever Pillow reads: the first picture of several, without its transparency."""
    from PIL import Image

    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content)) as picture:
            width, height = picture.size
            if width * height <= MAX_PIXELS:
                return np.asarray(picture.convert("RGB"))
    except Exception as error:  # whatever Pillow's decoders raise: dozens of kinds
        raise UnreadableError("Pillow finds no image in it.") from error
    raise UnreadableError(f"it has {width} × {height} pixels.")


def _has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None
