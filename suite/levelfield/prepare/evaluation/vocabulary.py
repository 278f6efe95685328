"""The vocabulary of a text data set: `vocab.txt`, beside the data or beside the weights."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from levelfield.prepare.evaluation import texts
from levelfield.prepare.evaluation.listing import UnusableError, shown
from levelfield.prepare.evaluation.windows import Special

NAME = "vocab.txt"
CONFIGURATION = "tokenizer_config.json"
MAX_BYTES = 16 << 20


class Vocabulary(msgspec.Struct, frozen=True):
    """Pieces that texts are split into."""

    content: str
    """One piece a line; its number is that of its line, from 0."""
    sha256: str
    special: Special
    lowercase: bool


class _Configuration(msgspec.Struct):
    do_lower_case: bool = True


def find(folders: Iterable[Path], words: int) -> Vocabulary:
    """Return the vocabulary of the first folder that has one.

    Whether texts lose case and accents is what `tokenizer_config.json` beside it says (`do_lower_case`); without that
    file they do.

    Raises UnusableError: there is none, or it is not one for this network.
    """
    looked = list(folders)
    folder = next((each for each in looked if (each / NAME).is_file()), None)
    if folder is None:
        raise UnusableError(
            f"There is no {NAME} in {' or '.join(shown(each.name) for each in looked)}: it says which piece of a text "
            "each number of the network stands for. Copy the one that belongs to the weights there."
        )
    content = texts.read(folder / NAME, "the vocabulary", MAX_BYTES, inside=folder).replace("\r\n", "\n")
    pieces = content.removesuffix("\n").split("\n")
    if len(pieces) > words:
        raise UnusableError(f"{NAME} has {len(pieces):,} pieces, and the network knows {words:,}.")
    numbers = {piece: number for number, piece in enumerate(pieces)}
    missing = [piece for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]") if piece not in numbers]
    if missing:
        raise UnusableError(f"{NAME} has no {', '.join(missing)}: it is no vocabulary of BERT's.")
    return Vocabulary(
        content=content,
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        special=Special(numbers["[PAD]"], numbers["[CLS]"], numbers["[SEP]"]),
        lowercase=_lowercase(folder / CONFIGURATION),
    )


def _lowercase(path: Path) -> bool:
    if not path.is_file():
        return True
    try:
        return msgspec.json.decode(
            texts.read(path, "the tokenizer's configuration", MAX_BYTES, inside=path.parent), type=_Configuration
        ).do_lower_case
    except msgspec.MsgspecError as error:
        raise UnusableError(f"{path.name} is no configuration of a tokenizer: {error}.") from None
