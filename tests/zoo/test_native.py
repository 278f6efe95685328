"""Where definitions are found, and the shapes in which frameworks take weights."""

import numpy as np

from levelfield.zoo import models, weights
from levelfield.zoo.native import channels_first, channels_last


def test_channels_first_is_the_inverse_of_channels_last() -> None:
    made = weights.make(models.get("digits_resnet"))
    turned = channels_last(made)
    assert turned["conv1.weight"].shape == (3, 3, 1, 16)
    assert turned["fc.weight"].shape == made["fc.weight"].shape[::-1]
    for name, array in channels_first(turned).items():
        np.testing.assert_array_equal(array, made[name])


def test_embeddings_stay_tables_of_one_row_a_word() -> None:
    table = np.zeros((5, 3), dtype=np.float32)
    assert channels_last({"embeddings.word_embeddings.weight": table})["embeddings.word_embeddings.weight"] is table
