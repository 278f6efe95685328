"""BERT in NumPy: activations keep their size, and padding cannot be seen."""

import numpy as np

from levelfield.zoo import inputs, models, weights
from levelfield.zoo.bert import reference as bert
from tests.zoo.healthy import healthy


def test_padding_cannot_be_seen(bert_weights: weights.Arrays) -> None:
    batch = inputs.make(models.get("bert"), 0, 2)
    padding = batch["attention_mask"] == 0
    assert padding.any()
    changed = {**batch, "input_ids": np.where(padding, 12345, batch["input_ids"])}
    x = bert.embed(bert_weights, batch["input_ids"], batch["token_type_ids"])
    y = bert.embed(bert_weights, changed["input_ids"], batch["token_type_ids"])
    before, after = (bert.layer(bert_weights, "encoder.layer.0", h, batch["attention_mask"]) for h in (x, y))
    np.testing.assert_array_equal(before[~padding], after[~padding])
    assert not np.allclose(before[padding], after[padding])


def test_bert_stays_healthy(bert_weights: weights.Arrays) -> None:
    batch = inputs.make(models.get("bert"), 0, 1)
    x = bert.embed(bert_weights, batch["input_ids"], batch["token_type_ids"])
    healthy(x, 0.9, 1.1)
    for number in range(12):
        x = bert.layer(bert_weights, f"encoder.layer.{number}", x, batch["attention_mask"])
        healthy(x, 0.9, 1.1)
    directions = x[0] / np.linalg.norm(x[0], axis=-1, keepdims=True)
    assert (directions @ directions.T).mean() < 0.9  # the tokens have not become one
