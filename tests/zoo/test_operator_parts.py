"""Which operators a network consists of: all of its products, and each as often as a call has it."""

import pytest

from levelfield.zoo import flops, models
from levelfield.zoo.operators import parts


@pytest.mark.parametrize(("name", "least"), [("bert", 1.0), ("resnet50", 1.0), ("vit", 0.99), ("mlp", 0.0)])
def test_the_arithmetic_of_a_network_is_that_of_its_operators(name: str, least: float) -> None:
    of_parts = sum(
        often * flops.count(models.get(each)).macs for each, often in parts.of(name, models.operators()).items()
    )
    assert least <= of_parts / flops.count(models.get(name)).macs <= 1


def test_bert_by_hand() -> None:
    assert parts.of("bert", models.operators()) == {
        "embedding-30522x768-128": 1,
        "gemm-768x128x768": 4 * 12,
        "attention-128x12x64": 12,
        "gemm-3072x128x768": 12,
        "gemm-768x128x3072": 12,
    }
