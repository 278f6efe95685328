"""What a model says of itself fits together."""

import pytest

from levelfield.plan.profiles import PROFILES
from levelfield.zoo import inputs, models
from levelfield.zoo.spec import Layer, dense


def test_a_dense_layer_has_a_weight_for_each_pair_and_a_bias() -> None:
    assert dense("fc", 2, 3, 5) == Layer(name="fc", kind="dense", macs=30, weights=20, reads=6, writes=10)


@pytest.mark.parametrize("name", models.names())
def test_a_benchmarked_model_has_batches_for_every_profile(name: str) -> None:
    model = models.get(name)
    assert model.has_inputs
    assert model.short_title
    assert model.batches.keys() == PROFILES.keys()
    assert (model.training_batches.keys() == PROFILES.keys()) == (model.recipe is not None)
    assert model.goal is None or model.recipe is not None


def test_a_small_sibling_has_no_inputs_of_its_own() -> None:
    digits = models.get("digits_mlp")
    assert not digits.has_inputs
    with pytest.raises(ValueError, match="has no seeded inputs"):
        inputs.make(digits, 0, 1)
