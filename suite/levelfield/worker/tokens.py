"""Texts as BERT takes them: split by the `tokenizers` library into pieces of a vocabulary (WordPiece).

It runs in the preprocessor's image, as decoding pictures does.
"""

import functools
from importlib import metadata
from typing import Any

from levelfield.worker.messages import Pieces, Tokenize, Tokenized

UNKNOWN = "[UNK]"
"""Piece for a word that is not made of others."""
LONGEST_WORD = 100
"""Characters; a longer word is unknown, as in BERT's published code."""


def tokenize(request: Tokenize) -> Tokenized:
    """Split all texts of a request, each into pieces with the characters that they stand for.

    Raises ValueError: the vocabulary has not the special pieces that BERT has.
    """
    tokenizer = _tokenizer(request.vocabulary, request.lowercase)
    encoded = tokenizer.encode_batch(list(request.texts), add_special_tokens=False)
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
    missing = [piece for piece in ("[PAD]", UNKNOWN, "[CLS]", "[SEP]") if piece not in numbers]
    if missing:
        raise ValueError(f"The vocabulary has no {', '.join(missing)}.")
    pieces = models.WordPiece(numbers, unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD)
    tokenizer = Tokenizer(pieces)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer
