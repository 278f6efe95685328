"""The answer of `levelfield push --json`."""

import msgspec

from levelfield.images.published import Published


class Pushed(msgspec.Struct, frozen=True):
    """Where images are in a registry."""

    format: int
    file: str
    """File of digests that was written."""
    images: tuple[Published, ...]
