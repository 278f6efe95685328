"""Inside the preprocessor's image, which holds no framework: pictures are decoded, and texts split.

What decodes strangers' files is in a container without a network, and not in the supervisor. Pictures become what
torchvision makes of them: `Resize(256)`, bilinear with antialiasing, by Pillow, and `CenterCrop(224)`. Texts are split
as BERT's published code does, by the `tokenizers` library (WordPiece).
"""

import functools
import io
import warnings
from importlib import metadata
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

SHORTER, SIDE = 256, 224
"""Pixels: of the shorter side, and of the square that is cut out."""
MAX_PIXELS = 64_000_000
"""Of one picture: a small file may claim to be a huge one."""
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
"""What is looked for; one of ImageNet's `.JPEG` files is a PNG."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""Pieces that every vocabulary of BERT's has."""
LONGEST_WORD = 100
"""Characters; a longer word is unknown, as in BERT's published code."""

Count = Annotated[int, msgspec.Meta(ge=0)]


class DecodePictures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decode picture files, each made small and cropped."""

    files: tuple[bytes, ...]
    """Contents of the files: whatever they hold, a stranger may have written it."""


class PicturesDecoded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pixels: bytes
    """uint8, shape (files, SIDE, SIDE, 3), C order; zeros of a file that cannot be read."""
    reasons: tuple[str, ...]
    """Why a file cannot be read, for each; empty: it can."""
    versions: dict[str, str]
    """Of what decoded them."""


class Tokenize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Split texts into the words and pieces of a vocabulary."""

    vocabulary: str
    """One piece a line; its number is that of its line, from 0."""
    lowercase: bool
    """Whether texts lose case and accents before."""
    texts: tuple[str, ...]


class Pieces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text in pieces of a vocabulary, without the special ones."""

    ids: tuple[Count, ...]
    starts: tuple[Count, ...]
    """Of each piece, in characters of the text."""
    ends: tuple[Count, ...]


class Tokenized(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pieces: tuple[Pieces, ...]
    """One for each text."""
    versions: dict[str, str]
    """Of what split them."""


def decode(request: msgspec.Raw) -> PicturesDecoded:
    """Answer `DecodePictures`; a file that cannot be read has a reason, and costs no other."""
    files = msgspec.json.decode(request, type=DecodePictures).files
    pixels = np.zeros((len(files), SIDE, SIDE, 3), dtype=np.uint8)
    reasons = []
    for square, content in zip(pixels, files, strict=True):
        try:
            square[...] = prepared(content)
            reasons.append("")
        except Exception as error:  # noqa: BLE001  (decoders raise whatever a spoiled file makes them)
            reasons.append(f"{type(error).__name__}: {error}"[:200])
    return PicturesDecoded(pixels.tobytes(), tuple(reasons), {"Pillow": metadata.version("pillow")})


def prepared(content: bytes) -> npt.NDArray[np.uint8]:
    """Return a picture file as a network's evaluation takes it, before it is normalised.

    Raises Exception: whatever Pillow raises of a file that holds no picture; ValueError where it is too large.
    """
    from PIL import Image

    with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content), formats=FORMATS) as opened:
        if opened.width * opened.height > MAX_PIXELS:
            raise ValueError(f"it has {opened.width} x {opened.height} pixels")
        picture: Any = opened.convert("RGB")
    picture = picture.resize(resized(picture.width, picture.height), Image.Resampling.BILINEAR)
    left, top = round((picture.width - SIDE) / 2), round((picture.height - SIDE) / 2)
    return np.asarray(picture.crop((left, top, left + SIDE, top + SIDE)))


def resized(width: int, height: int) -> tuple[int, int]:
    """Return width and height once the shorter side has `SHORTER` pixels; the longer one is rounded down."""
    longer = int(SHORTER * max(width, height) / min(width, height))
    return (SHORTER, longer) if width <= height else (longer, SHORTER)


def tokenize(request: msgspec.Raw) -> Tokenized:
    """Answer `Tokenize`; raises ValueError where the vocabulary has not the special pieces that BERT has."""
    asked = msgspec.json.decode(request, type=Tokenize)
    encoded = _tokenizer(asked.vocabulary, asked.lowercase).encode_batch(list(asked.texts), add_special_tokens=False)
    pieces = tuple(
        Pieces(tuple(each.ids), tuple(start for start, _ in each.offsets), tuple(end for _, end in each.offsets))
        for each in encoded
    )
    return Tokenized(pieces, {"tokenizers": metadata.version("tokenizers")})


@functools.lru_cache(maxsize=1)
def _tokenizer(vocabulary: str, lowercase: bool) -> Any:  # noqa: ANN401  (the library is only in its image)
    """Make what BERT's published code does: clean, split at spaces and punctuation, and take the longest pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    numbers = {piece: number for number, piece in enumerate(vocabulary.split("\n")) if piece}
    missing = [piece for piece in SPECIAL if piece not in numbers]
    if missing:
        raise ValueError(f"The vocabulary has no {', '.join(missing)}.")
    pieces = models.WordPiece(numbers, unk_token=SPECIAL[1], max_input_chars_per_word=LONGEST_WORD)
    tokenizer = Tokenizer(pieces)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer
