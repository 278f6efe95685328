import numpy as np

from levelfield.zoo import models, weights
from levelfield.zoo.native import channels_first, channels_last


def test_the_published_sizes() -> None:
    # torchvision's resnet50: 25,557,032 parameters, and 53,120 running statistics; bert-base-uncased: 109,482,240
    # with a pooler of 768 · 769.
    assert models.get("mlp").parameter_count == sum((a + 1) * b for a, b in _pairs())
    assert models.get("resnet50").parameter_count == 25_557_032 + 53_120
    assert models.get("bert").parameter_count == 109_482_240 - 768 * 769
    # torchvision's mobilenet_v2: 3,504,872 parameters, and 34,112 running statistics; its vit_b_16: 86,567,656.
    assert models.get("mobilenet").parameter_count == 3_504_872 + 34_112
    assert models.get("vit").parameter_count == 86_567_656
    # Of each layer: queries and output, keys and values, three of the gated network, two norms; two tables; one norm.
    layer = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1376 + 2 * 512
    assert models.get("decoder").parameter_count == 8 * layer + 2 * 8192 * 512 + 512
    assert models.get("embedder").parameter_count == models.get("bert").parameter_count


def _pairs() -> list[tuple[int, int]]:
    return [(200, 128), (128, 64), (64, 32), (32, 16), (16, 8), (8, 1)]


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
