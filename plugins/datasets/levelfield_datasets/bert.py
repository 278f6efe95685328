"""What BERT takes of texts: a vocabulary's pieces, with special ones around them, filled up to a fixed length.

A long text beside a question is given in windows that overlap, as BERT's published code for SQuAD does (`run_squad.py`
of google-research/bert): every window begins 128 pieces after the one before it, and a piece that stands in several
counts in the one where it has the most on both sides.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield_datasets.files import UnusableError, read_text, shown
from levelfield_datasets.worker import SPECIAL

VOCABULARY = "vocab.txt"
"""Beside the data or beside the weights."""
CONFIGURATION = "tokenizer_config.json"
MAX_BYTES = 16 << 20
STRIDE = 128
"""Pieces from the beginning of a window to that of the next."""
LONGEST_QUESTION = 64
"""Pieces of a question; the rest is left out."""


class Vocabulary(msgspec.Struct, frozen=True):
    """Pieces that texts are split into, and the numbers of the special ones."""

    content: str
    """One piece a line; its number is that of its line, from 0."""
    pad: int
    cls: int
    sep: int
    lowercase: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()


class _Configuration(msgspec.Struct, forbid_unknown_fields=False):
    do_lower_case: bool = True


def find_vocabulary(folders: Iterable[Path], words: int) -> Vocabulary:
    """Return the vocabulary of the first folder that has one.

    Whether texts lose case and accents is what `tokenizer_config.json` beside it says (`do_lower_case`); without that
    file they do.

    Raises UnusableError: there is none, or it is not one for this network.
    """
    looked = list(folders)
    folder = next((place for place in looked if (place / VOCABULARY).is_file()), None)
    if folder is None:
        raise UnusableError(
            f"There is no {VOCABULARY} in {' or '.join(shown(place.name) for place in looked)}: it says which piece of "
            "a text each number of the network stands for. Copy the one that belongs to the weights there."
        )
    content = read_text(folder / VOCABULARY, "vocabulary", MAX_BYTES, inside=folder).replace("\r\n", "\n")
    pieces = content.removesuffix("\n").split("\n")
    if len(pieces) > words:
        raise UnusableError(f"{VOCABULARY} has {len(pieces):,} pieces, and the network knows {words:,}.")
    numbers = {piece: number for number, piece in enumerate(pieces)}
    missing = [piece for piece in SPECIAL if piece not in numbers]
    if missing:
        raise UnusableError(f"{VOCABULARY} has no {', '.join(missing)}: it is no vocabulary of BERT's.")
    return Vocabulary(content, numbers["[PAD]"], numbers["[CLS]"], numbers["[SEP]"], _lowercase(folder))


def _lowercase(folder: Path) -> bool:
    path = folder / CONFIGURATION
    if not path.is_file():
        return True
    try:
        return msgspec.json.decode(
            read_text(path, "configuration of the tokenizer", MAX_BYTES, inside=folder), type=_Configuration
        ).do_lower_case
    except msgspec.MsgspecError as error:
        raise UnusableError(f"{path.name} is no configuration of a tokenizer: {error}.") from None


class Window(msgspec.Struct, frozen=True):
    """One part of a text, which is given beside a question."""

    first: int
    """Number of its first piece in the text."""
    count: int
    begins: int
    """Where its first piece stands in the input."""
    counts: tuple[bool, ...]
    """For each piece, whether no other window has more around it."""


def record(
    dtype: np.dtype[Any], special: Vocabulary, first: Sequence[int], second: Sequence[int] | None
) -> npt.NDArray[Any]:
    """Return a record of one or two texts: [CLS] first [SEP] second [SEP], filled up with [PAD].

    `first`, `second`: numbers of the pieces, no more than there is room for; None: there is no second text.
    """
    made = np.zeros((), dtype)
    ids = [special.cls, *first, special.sep]
    both = ids if second is None else [*ids, *second, special.sep]
    made["input_ids"] = special.pad
    made["input_ids"][: len(both)] = both
    made["token_type_ids"][len(ids) : len(both)] = 1
    made["attention_mask"][: len(both)] = 1
    return made


def shortened(first: Sequence[int], second: Sequence[int], room: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return two texts that fit: the longer one loses its last piece, again and again."""
    left, right = len(first), len(second)
    while left + right > room:
        if left > right:
            left -= 1
        else:
            right -= 1
    return first[:left], second[:right]


def windows(question: int, text: int, length: int) -> tuple[Window, ...]:
    """Return the windows over a text that stands beside a question.

    Raises ValueError: there is no room for the text.
    """
    room = length - question - 3
    if room < 1:
        raise ValueError(f"A question of {question} pieces leaves no room in {length}.")
    spans = []
    start = 0
    while True:
        count = min(text - start, room)
        spans.append((start, count))
        if start + count >= text:
            break
        start += min(count, STRIDE)
    fullest = [(-1.0, 0)] * text
    for number, (first, count) in enumerate(spans):
        for position in range(first, first + count):
            # A piece has the most around it by the smaller side, and a little by the window's length.
            score = min(position - first, first + count - 1 - position) + 0.01 * count
            if score > fullest[position][0]:
                fullest[position] = score, number
    return tuple(
        Window(first, count, question + 2, tuple(each == number for _, each in fullest[first : first + count]))
        for number, (first, count) in enumerate(spans)
    )
