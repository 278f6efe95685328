"""Single operators: their shapes, their arithmetic, and the reference by hand."""

import itertools
import math

import numpy as np
import pytest

from levelfield.zoo import inputs, models, reference, weights
from levelfield.zoo import operators as spec


def computed(name: str) -> tuple[weights.Arrays, weights.Arrays, np.ndarray]:
    model = models.get(name)
    w, given = weights.make(model), inputs.make(model, 0, 2)
    return w, given, reference.run(model, w, given)


def test_a_product_by_hand() -> None:
    w, given, output = computed("gemm-1376x1x512")
    by_hand = math.fsum(float(a) * float(b) for a, b in zip(w["weight"][7], given["vectors"][1, 0], strict=True))
    assert output[1, 0, 7] == pytest.approx(by_hand, abs=1e-12)


def test_a_convolution_by_hand() -> None:
    w, given, output = computed("conv-3x224x224-64x7x7-s2")
    # The filter at row 1 and column 2 begins three pixels (the padding) before pixel 2 and pixel 4.
    by_hand = math.fsum(
        float(w["weight"][5, c, i, j]) * float(given["images"][0, c, 2 - 3 + i, 4 - 3 + j])
        for c, i, j in itertools.product(range(3), range(7), range(7))
        if 2 - 3 + i >= 0 and 4 - 3 + j >= 0
    )
    assert output[0, 5, 1, 2] == pytest.approx(by_hand, abs=1e-12)


def test_attention_by_hand() -> None:
    _, given, output = computed("attention-128x12x64")
    head = slice(3 * 64, 4 * 64)
    query, key, value = (given[part][1, :, head].astype(float) for part in ("query", "key", "value"))
    scores = np.exp(key @ query[9] / 8)
    assert output[1, 9, head] == pytest.approx(scores @ value / scores.sum(), abs=1e-12)


def test_a_softmax_and_a_layer_norm_by_hand() -> None:
    _, given, output = computed("softmax-1536x128")
    exponentials = np.exp(given["scores"][1, 4].astype(float))
    assert output[1, 4] == pytest.approx(exponentials / exponentials.sum(), abs=1e-15)
    w, given, output = computed("layernorm-128x768")
    x = given["hidden"][0, 3].astype(float)
    normal = (x - x.mean()) / math.sqrt(x.var() + spec.EPSILON)
    assert output[0, 3] == pytest.approx(normal * w["weight"] + w["bias"], abs=1e-12)


def test_a_lookup_takes_rows_of_all_the_table() -> None:
    w, given, output = computed("embedding-8192x512-128")
    ids = given["input_ids"]
    assert np.array_equal(output, w["embeddings.weight"][ids])
    assert ids.min() < 500
    assert ids.max() > 7500


def test_rows_are_taken_and_added_item_by_item() -> None:
    _, given, output = computed("gather-128x768-20")
    assert np.array_equal(output[1, 3], given["hidden"][1, given["rows"][1, 3]].astype(float))
    _, given, output = computed("scatter-1024x768-512")
    row, times = max(
        ((row, int((given["rows"][0] == row).sum())) for row in given["rows"][0]), key=lambda each: each[1]
    )
    assert times > 1  # some are added to the same row
    assert output[0, row] == pytest.approx(given["vectors"][0, given["rows"][0] == row].astype(float).sum(0), abs=1e-12)
    assert not output[0, np.setdiff1d(np.arange(1024), given["rows"][0])].any()
