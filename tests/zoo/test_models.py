import pytest

from suite.zoo import models


def test_the_published_sizes() -> None:
    # torchvision's resnet50: 25,557,032 parameters, and 53,120 running statistics; bert-base-uncased: 109,482,240
    # with a pooler of 768 · 769.
    assert models.get("mlp").parameter_count == sum((a + 1) * b for a, b in _pairs())
    assert models.get("resnet50").parameter_count == 25_557_032 + 53_120
    assert models.get("bert").parameter_count == 109_482_240 - 768 * 769


def _pairs() -> list[tuple[int, int]]:
    return [(200, 128), (128, 64), (64, 32), (32, 16), (16, 8), (8, 1)]


def test_names_are_those_that_are_benchmarked() -> None:
    assert models.names() == ("mlp", "resnet50", "bert")
    assert models.get("canary").name == "canary"


def test_an_unknown_name_lists_the_close_ones() -> None:
    with pytest.raises(ValueError, match=r"no model 'resnet'.*Did you mean resnet50"):
        models.get("resnet")
    with pytest.raises(ValueError, match="There are mlp, resnet50, bert"):
        models.get("?")


def test_parameter_names_are_unique() -> None:
    for name in (*models.names(), "canary"):
        found = [parameter.name for parameter in models.get(name).parameters]
        assert len(found) == len(set(found))
