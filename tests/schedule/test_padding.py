"""Lengths of environments: random, independent, and the same for the same seed."""

from collections import Counter

import numpy as np

from levelfield.record.schema import Arm
from levelfield.schedule import padding

ARMS = (Arm("torch", "torch"), Arm("torch", "torch", ordinal=2))


def test_the_same_seed_draws_the_same_whatever_else_is_drawn() -> None:
    both = padding.draw(ARMS, 7)
    assert set(both) == {"torch", "torch#2"}
    assert padding.draw(reversed(ARMS), 7) == both
    assert padding.draw(ARMS[1:], 7) == {"torch#2": both["torch#2"]}
    assert both == {"torch": 1260, "torch#2": 2485}, "a seed in a record means the same lengths in later versions"


def test_lengths_are_uniform_over_a_page_and_independent_between_the_arms_of_a_generation() -> None:
    drawn = np.array([list(padding.draw(ARMS, seed).values()) for seed in range(4096)])
    assert drawn.min() >= 0
    assert drawn.max() <= 4095
    counts = Counter((drawn // 256).ravel().tolist())
    assert len(counts) == 16
    assert all(abs(count - 512) < 5 * 512**0.5 for count in counts.values())
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / 4096**0.5
