import numpy as np
import pytest

from levelfield.zoo import inputs, models
from levelfield.zoo.bert import CLS, MASK, MASKED, PAD, SEP
from levelfield.zoo.training import batches

NAMES = {
    "mlp": ("features", "labels"),
    "resnet50": ("images", "labels"),
    "bert": ("input_ids", "token_type_ids", "attention_mask", "positions", "labels"),
}


@pytest.mark.parametrize("name", models.trained())
def test_an_item_is_the_same_in_whatever_batch_it_stands(name: str) -> None:
    model = models.get(name)
    whole, part = batches.make(model, 0, 6), batches.make(model, 3, 2)
    assert tuple(batches.names(model)) == NAMES[name]
    assert whole.keys() == set(NAMES[name])
    for key, array in part.items():
        assert array.dtype == whole[key].dtype
        assert array.dtype in (np.float32, np.int32)
        assert np.array_equal(array, whole[key][3:5]), key


def test_masked_words_are_hidden_and_kept() -> None:
    model = models.get("bert")
    made, plain = batches.make(model, 0, 8), inputs.make(model, 0, 8)
    assert made["positions"].shape == made["labels"].shape == (8, MASKED)
    for row in range(8):
        places, words = made["positions"][row], made["labels"][row]
        assert len(set(places.tolist())) == MASKED
        assert (plain["attention_mask"][row][places] == 1).all()
        assert not {PAD, CLS, SEP} & set(words.tolist())
        assert (made["input_ids"][row][places] == MASK).all()
        back = made["input_ids"][row].copy()
        back[places] = words
        assert np.array_equal(back, plain["input_ids"][row]), "nothing else is changed"
