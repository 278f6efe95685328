"""How often a level that did not move is said to have moved, and how often one that did is found."""

import itertools
import math

import numpy as np
import pytest

from levelfield.statistics.arrays import Floats
from levelfield.statistics.shift import LEAST, has_shifted

SERIES = 1500


def correlated(rng: np.random.Generator, count: int, correlation: float, *, heavy: bool) -> Floats:
    """Return AR(1) noise of standard deviation 1: normal, or Student's t with three degrees of freedom."""
    drawn = rng.standard_t(3, count) / math.sqrt(3) if heavy else rng.normal(size=count)
    noise = np.empty(count)
    noise[0] = drawn[0]
    for place in range(1, count):
        noise[place] = correlation * noise[place - 1] + math.sqrt(1 - correlation**2) * drawn[place]
    return noise


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("correlation", "allowed"), [(0.0, 0.01), (0.3, 0.02), (0.6, 0.04)])
def test_a_level_that_does_not_move_is_rarely_said_to_have(correlation: float, allowed: float) -> None:
    rng = np.random.default_rng(1)
    for count, heavy in itertools.product((LEAST, 30, 60), (False, True)):
        moved = sum(has_shifted(0.1 * correlated(rng, count, correlation, heavy=heavy)) for _ in range(SERIES))
        # Three standard errors of a simulated share above what the docstring says.
        assert moved / SERIES <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / SERIES)


@pytest.mark.parametrize(("step", "least"), [(0.15, 0.55), (0.30, 0.97)])
def test_a_step_is_found(step: float, least: float) -> None:
    rng = np.random.default_rng(2)
    stepped = np.where(np.arange(LEAST) >= LEAST // 2, step, 0.0)
    found = [has_shifted(0.04 * correlated(rng, LEAST, 0.3, heavy=False) + stepped) for _ in range(400)]
    assert np.mean(found) > least
