"""The gate catches the mistakes that people make: each is put into the reference, rounded to float32 and judged."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from levelfield.zoo import inputs, models, parity, reference, weights
from levelfield.zoo.bert import reference as bert
from levelfield.zoo.resnet50 import reference as resnet50

Run = Callable[[], np.ndarray]


def _runner(name: str, w: weights.Arrays) -> Run:
    model = models.get(name)
    batch = inputs.make(model, 0, 1)
    return lambda: reference.run(model, w, batch)


@pytest.fixture(scope="module")
def run_bert(bert_weights: weights.Arrays) -> Run:
    return _runner("bert", bert_weights)


@pytest.fixture(scope="module")
def run_resnet50(resnet50_weights: weights.Arrays) -> Run:
    return _runner("resnet50", resnet50_weights)


@pytest.fixture(scope="module")
def right_bert(run_bert: Run) -> np.ndarray:
    return run_bert()


@pytest.fixture(scope="module")
def right_resnet50(run_resnet50: Run) -> np.ndarray:
    return run_resnet50()


def _caught(wrong: np.ndarray, right: np.ndarray) -> None:
    assert parity.judge(right.astype(np.float32), right).equal
    judgement = parity.judge(wrong.astype(np.float32), right)
    assert not judgement.equal
    assert judgement.errors is not None
    assert judgement.errors.finite
    # Not by a hair: a mistake and rounding are a decade apart.
    assert judgement.errors.relative_l2 > 10 * parity.TOLERANCES["fp32"]


def test_tanh_gelu(monkeypatch: pytest.MonkeyPatch, run_bert: Run, right_bert: np.ndarray) -> None:
    def tanh_gelu(x: np.ndarray) -> np.ndarray:
        return np.asarray(x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))

    monkeypatch.setattr(bert, "gelu", tanh_gelu)
    _caught(run_bert(), right_bert)


def test_layer_norm_epsilon(monkeypatch: pytest.MonkeyPatch, run_bert: Run, right_bert: np.ndarray) -> None:
    norm = bert.norm
    monkeypatch.setattr(bert, "norm", lambda w, name, x, _: norm(w, name, x, 1e-5))
    _caught(run_bert(), right_bert)


def test_forgotten_mask(monkeypatch: pytest.MonkeyPatch, run_bert: Run, right_bert: np.ndarray) -> None:
    attention = bert.attention
    monkeypatch.setattr(
        bert, "attention", lambda w, name, x, mask, sizes: attention(w, name, x, np.ones_like(mask), sizes=sizes)
    )
    _caught(run_bert(), right_bert)


def test_strides_of_version_1_0(monkeypatch: pytest.MonkeyPatch, run_resnet50: Run, right_resnet50: np.ndarray) -> None:
    conv = resnet50.conv

    def conv_v1_0(
        w: resnet50.Weights, name: str, x: resnet50.Array, stride: int = 1, padding: int = 0
    ) -> resnet50.Array:
        if name.startswith("layer") and name[6:] == ".0.conv1" and name[5] != "1":
            return conv(w, name, x, 2, padding)
        return conv(w, name, x, 1 if name.endswith("conv2") else stride, padding)

    monkeypatch.setattr(resnet50, "conv", conv_v1_0)
    _caught(run_resnet50(), right_resnet50)
