"""A name says all of a network with weights of the user's own, and nothing that there cannot be."""

import msgspec
import numpy as np
import pytest

from levelfield.zoo import bert, decoder, flops, inputs, mobilenet, models, own_weights, resnet50, vit

SHA256 = "1a2b3c4d" * 8
SMALL = {
    "bert": bert.Sizes(layers=2, hidden=32, heads=4, inner=48, vocabulary=100, positions=40, epsilon=1e-5),
    "embedder": bert.Sizes(layers=1, hidden=32, heads=2, inner=48, vocabulary=100),
    "decoder": decoder.Sizes(layers=1, hidden=32, heads=4, head=12, key_heads=2, inner=48, vocabulary=64, context=64),
    "vit": vit.Sizes(layers=1, hidden=32, heads=4, inner=48, patch=8, size=40, classes=3),
    "resnet50": resnet50.Sizes(stem=8, stages=((8, 1), (12, 2)), classes=3),
    "mobilenet": mobilenet.Sizes(width=0.35, size=64, classes=3, epsilon=1e-3, same=True),
}


@pytest.mark.parametrize("family", SMALL)
def test_a_name_says_the_sizes(family: str) -> None:
    name = own_weights.name_of(family, SHA256, SMALL[family])
    model = models.get(name)
    assert (model.sizes, model.name, model.package) == (SMALL[family], name, family)
    assert models.has_own_weights(name)
    assert models.title_of_own_weights(name) == f"{model.short_title} 1a2b3c4d"


@pytest.mark.parametrize("family", SMALL)
def test_the_usual_sizes_have_a_short_name_and_are_the_usual_network(family: str) -> None:
    name = own_weights.name_of(family, SHA256, type(SMALL[family])())
    assert name == f"{family}-1a2b3c4d"
    found, built_in = models.get(name), models.get(family)
    assert (found.parameters, found.inputs) == (built_in.parameters, built_in.inputs)
    assert found.output == built_in.output
    assert flops.count(found) == msgspec.structs.replace(flops.count(built_in), model=name)
    for key, array in inputs.make(built_in, 0, 1).items():
        assert np.array_equal(inputs.make(found, 0, 1)[key], array)


def test_small_vocabularies_are_not_exceeded() -> None:
    for vocabulary in (8, 100, 1999, 2000, 30522):
        model = models.get(own_weights.name_of("bert", SHA256, bert.Sizes(vocabulary=vocabulary)))
        assert 0 <= inputs.make(model, 0, 8)["input_ids"].max() < vocabulary


@pytest.mark.parametrize(
    "name",
    [
        "bert-1a2b3c4", "mlp-1a2b3c4d", "bert-1a2b3c4d+layers=0", "bert-1a2b3c4d+layers=2+layers=3",
        "bert-1a2b3c4d+depth=2", "bert-1a2b3c4d+heads=5", "bert-1a2b3c4d+epsilon=nan", "bert-1a2b3c4d+epsilon=1e999",
        "bert-1a2b3c4d+layers=256+hidden=65536+heads=1+inner=262144", "resnet50-1a2b3c4d+stages=64x3.128",
        "resnet50-1a2b3c4d+pooled=maybe", "decoder-1a2b3c4d+key_heads=3", "bert-1a2b3c4d" + "+layers=2" * 100,
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):  # msgspec.ValidationError is a ValueError
        models.get(name)
