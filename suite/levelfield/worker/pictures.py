"""Pictures as ImageNet's evaluations take them: decoded, made small, and the middle square cut out.

It is what torchvision does before a picture becomes a tensor: `Resize(256)`, bilinear with antialiasing, by Pillow, and
`CenterCrop(224)`. It runs in the preprocessor's image, which holds no framework: what decodes strangers' files is in a
container without a network, and not in the supervisor.
"""

import io
import warnings
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.worker.messages import DecodePictures, PicturesDecoded

MAX_PIXELS = 64_000_000
"""Of one picture: a small file may claim to be a huge one."""
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
"""What is looked for; one of ImageNet's `.JPEG` files is a PNG."""


def decode(request: DecodePictures) -> PicturesDecoded:
    """Decode all files of a request; one that cannot be read has a reason, and costs no other."""
    pixels = np.zeros((len(request.files), request.side, request.side, 3), dtype=np.uint8)
    reasons = []
    for square, content in zip(pixels, request.files, strict=True):
        try:
            square[...] = prepared(content, request.shorter, request.side)
            reasons.append("")
        except Exception as error:  # noqa: BLE001  (decoders raise whatever a spoiled file makes them)
            reasons.append(f"{type(error).__name__}: {error}"[:200])
    return PicturesDecoded(pixels.tobytes(), tuple(reasons), {"Pillow": metadata.version("pillow")})


def prepared(content: bytes, shorter: int, side: int) -> npt.NDArray[np.uint8]:
    """Return a picture file as a network's evaluation takes it, before it is normalised.

    Raises Exception: whatever Pillow raises of a file that holds no picture; ValueError where it is too large.
    """
    from PIL import Image

    with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content), formats=FORMATS) as opened:
        if opened.width * opened.height > MAX_PIXELS:
            raise ValueError(f"it has {opened.width} x {opened.height} pixels")
        picture: Any = opened.convert("RGB")
    picture = picture.resize(resized(picture.width, picture.height, shorter), Image.Resampling.BILINEAR)
    left, top = round((picture.width - side) / 2), round((picture.height - side) / 2)
    return np.asarray(picture.crop((left, top, left + side, top + side)))


def resized(width: int, height: int, shorter: int) -> tuple[int, int]:
    """Return width and height once the shorter side has `shorter` pixels; the longer one is rounded down."""
    longer = int(shorter * max(width, height) / min(width, height))
    return (shorter, longer) if width <= height else (longer, shorter)
