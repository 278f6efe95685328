"""Bringing workers up: who cannot answer is absent with the reason, and never launched; what is drawn for each."""

from collections import Counter

import numpy as np

from levelfield.record.schema import Arm, Case
from levelfield.schedule.launches import bring_up, padding_of
from tests import canaries


def test_who_does_not_compute_in_a_precision_is_not_launched() -> None:
    site = canaries.site(canaries.plan("latency"))
    outcomes = bring_up(site, Case("mlp", "latency", "int8", 1, 1), [Arm("jax", "jax"), Arm("torch", "torch")])
    assert not canaries.workers()
    for outcome, words in zip(outcomes, ("JAX has no static quantisation", "torchao"), strict=True):
        assert outcome.worker is None
        assert outcome.launch.failure is not None
        assert outcome.launch.failure.kind == "unsupported"
        assert words in outcome.launch.failure.message


def test_the_same_seed_draws_the_same_padding() -> None:
    lengths = [padding_of(arm, 7) for arm in (Arm("torch", "torch"), Arm("torch", "torch", ordinal=2))]
    assert lengths == [1260, 2485], "a seed in a record means the same lengths in later versions"


def test_paddings_are_uniform_over_a_page_and_independent_between_arms() -> None:
    arms = (Arm("torch", "torch"), Arm("torch", "torch", ordinal=2))
    drawn = np.array([[padding_of(arm, seed) for arm in arms] for seed in range(4096)])
    assert drawn.min() >= 0
    assert drawn.max() <= 4095
    counts = Counter((drawn // 256).ravel().tolist())
    assert len(counts) == 16
    assert all(abs(count - 512) < 5 * 512**0.5 for count in counts.values())
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / 4096**0.5
