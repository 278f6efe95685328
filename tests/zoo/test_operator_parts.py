"""Which operators a network consists of: all of its products, and each as often as a call has it."""

from levelfield.zoo import models
from levelfield.zoo.operators import parts


def test_bert_by_hand() -> None:
    assert parts.of("bert", models.operators()) == {
        "embedding-30522x768-128": 1,
        "gemm-768x128x768": 4 * 12,
        "attention-128x12x64": 12,
        "gemm-3072x128x768": 12,
        "gemm-768x128x3072": 12,
    }
