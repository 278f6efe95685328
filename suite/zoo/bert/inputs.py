"""Pairs of sentences as a tokenizer gives them: [CLS] first [SEP] second [SEP], padded to 128.

Lengths, the place of the split and the words differ between inputs; small word numbers are more frequent, as in text.
"""

import numpy as np

from suite.zoo import bits
from suite.zoo.bert.spec import SEQUENCE, VOCABULARY
from suite.zoo.weights import Arrays

PAD, CLS, SEP = 0, 101, 102
FIRST_WORD = 1000
"""Lower numbers are special and single characters."""
SHORTEST = 32


def one(name: str) -> Arrays:
    """Return the input of that name: `input_ids`, `token_type_ids` and `attention_mask`, int32, shape (128,)."""
    draws = bits.integers(name, SEQUENCE + 2)  # 24 bits each
    length = SHORTEST + int(draws[0]) % (SEQUENCE - SHORTEST + 1)
    split = length // 4 + int(draws[1]) % (length // 2)  # where the first sentence's [SEP] stands
    position = np.arange(SEQUENCE)
    # u² for a uniform u, in integers: a quarter of the vocabulary makes up half of the words.
    squares = (draws[2:] * draws[2:]) >> 24
    ids = FIRST_WORD + ((squares * (VOCABULARY - FIRST_WORD)) >> 24)
    ids[0] = CLS
    ids[[split, length - 1]] = SEP
    real = position < length
    return {
        "input_ids": np.where(real, ids, PAD).astype(np.int32),
        "token_type_ids": (real & (position > split)).astype(np.int32),
        "attention_mask": real.astype(np.int32),
    }
