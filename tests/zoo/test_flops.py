"""What a call computes and moves: by hand, as published, and as others count the same network."""

import pytest

from levelfield.zoo import flops, models


def test_the_mlp_is_counted_by_hand() -> None:
    pairs = [(200, 128), (128, 64), (64, 32), (32, 16), (16, 8), (8, 1)]
    counted = flops.count(models.get("mlp"), batch=3)
    assert counted.macs == 3 * 36_488  # 3 × sum of a · b
    assert counted.macs == 3 * sum(a * b for a, b in pairs)
    assert counted.weight_bytes == 4 * models.get("mlp").parameter_count
    assert counted.activation_bytes == 4 * 3 * (200 + 2 * (128 + 64 + 32 + 16 + 8) + 1)
    assert counted.widest_bytes == 4 * 3 * (200 + 128)
    assert counted.macs_by_kind == {"dense": 3 * 36_488}


def test_resnet50_is_as_published() -> None:
    # torchvision states 4.09 GFLOPs (it counts multiply-accumulates) for v1.5; v1.0 would be 3.8.
    counted = flops.count(models.get("resnet50"))
    assert counted.macs / 1e9 == pytest.approx(4.09, abs=0.005)
    # 25,557,032 parameters, of which the 26,560 norm weights fold away; the norms' biases stay.
    assert counted.weight_bytes == 4 * (25_557_032 - 26_560)
    assert set(counted.macs_by_kind) == {
        "convolution 7×7, stride 2", "convolution 1×1", "convolution 1×1, stride 2", "convolution 3×3",
        "convolution 3×3, stride 2", "dense",
    }  # fmt: skip
    assert sum(counted.macs_by_kind.values()) == counted.macs
    # 11.1 M activations out of the convolutions is the usual figure; each is written here, and read by the next.
    assert counted.activation_bytes / 4 == pytest.approx(2 * 11.1e6, rel=0.05)


def test_bert_is_as_published() -> None:
    # 12 layers × (12·768² weights × 128 tokens + 2·128²·768): 11.17 G; 22.5 GFLOPs is the figure usually given.
    counted = flops.count(models.get("bert"))
    assert counted.macs == 12 * (12 * 768**2 * 128 + 2 * 128**2 * 768)
    assert counted.macs / 1e9 == pytest.approx(11.17, abs=0.01)
    # 85.05 M weights in the layers, without their 12 × 2 norms, and of the tables what one call looks up.
    assert counted.weight_bytes == 4 * (12 * (12 * 768**2 + 9 * 768) + 130 * 768)


def test_bert_by_hand() -> None:
    assert flops.operators_of("bert", models.operators()) == {
        "embedding-30522x768-128": 1, "gemm-768x128x768": 4 * 12, "attention-128x12x64": 12, "gemm-3072x128x768": 12,
        "gemm-768x128x3072": 12,
    }  # fmt: skip
