"""Products are rounded as a lower precision rounds them, all of them, and nothing else is."""

from typing import Any

import numpy as np
import pytest

from levelfield.zoo import models
from levelfield.zoo.digits import data
from levelfield.zoo.mlp.spec import DIGITS_WIDTHS
from levelfield.zoo.resnet50.spec import SMALL, convolutions
from levelfield.zoo.rounding import to_significand
from levelfield.zoo.training import convergence, lowered
from levelfield.zoo.training.trajectory import loss_and_gradients

RNG = np.random.default_rng(3)
BITS = 8


def rounded(array: Any) -> Any:
    return to_significand(array, BITS).astype(np.float64)


def test_a_product_is_rounded_before_and_after() -> None:
    x, w = RNG.standard_normal((5, 7)), RNG.standard_normal((7, 3))
    expected = rounded(rounded(x) @ rounded(w))
    for product in (x @ lowered.of(w, BITS), lowered.of(x, BITS) @ w, lowered.of(x, BITS) @ lowered.of(w, BITS)):
        np.testing.assert_array_equal(lowered.exact(product), expected)
    assert not np.array_equal(expected, x @ w)


def test_what_is_no_product_is_exact_and_what_follows_is_rounded_again() -> None:
    x, w = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 4))
    plain = np.maximum((x * 3 + w).T.reshape(2, 8), 0)
    shown = lowered.of(x, BITS)
    same = np.maximum((shown * 3 + w).T.reshape(2, 8), 0)
    np.testing.assert_array_equal(lowered.exact(same), plain)
    copied = shown.astype(np.float64, order="C")
    for view in (
        shown.T,
        shown[1:],
        shown.copy(),
        copied,
        same,
        *np.split(shown, 2),
        shown.mean(axis=0, keepdims=True),
    ):
        assert isinstance(view, lowered.Lowered)
        assert view.significand == BITS
    total = np.zeros((4, 4))
    total += shown
    np.testing.assert_array_equal(total, x)
    assert type(lowered.exact(shown)) is np.ndarray


@pytest.mark.parametrize(
    ("name", "layers"), [("mlp", len(DIGITS_WIDTHS) - 1), ("resnet50", len(convolutions(SMALL, (1, 8, 8))) + 1)]
)
def test_every_product_of_a_training_is_rounded(name: str, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operands and a result of each: one product forward, two back, of which the first layer needs one."""
    calls: list[int] = []
    plain = lowered._rounded

    def counted(array: Any, bits: int) -> Any:
        calls.append(bits)
        return plain(array, bits)

    monkeypatch.setattr(lowered, "_rounded", counted)
    goal = convergence.goal(name)
    model = models.get(goal.network)
    weights = convergence.weights(model, 0)
    batch = next(data.batches(data.load(model).train, data.schedule(0, 1, 8)))
    exact = loss_and_gradients(model, weights, batch)
    assert not calls
    loss, gradients, statistics = loss_and_gradients(model, weights, batch, significand=BITS)
    # A kernel of k × k pixels goes back place by place: k² products where a matrix has one.
    kernels = sum(conv.kernel**2 for conv in convolutions(SMALL, (1, 8, 8))[1:]) if name == "resnet50" else layers - 2
    assert len(calls) == 3 * (2 * layers + kernels + 1)
    assert set(calls) == {BITS}
    assert loss == pytest.approx(exact[0], rel=0.05)
    assert loss != exact[0]
    assert gradients.keys() == exact[1].keys()
    assert statistics.keys() == exact[2].keys()
    assert {type(each) for each in (*gradients.values(), *statistics.values())} == {np.ndarray}
