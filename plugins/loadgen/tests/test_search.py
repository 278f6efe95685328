"""The search for the highest load, against a simulated server whose limit is known."""

import math

import numpy as np
import pytest

from levelfield.analysis.loadgen import Tried, highest
from levelfield_loadgen.search import CLOSE, MOST, next_load


def search(limit: float, capacity: float) -> list[Tried]:
    """Search where all loads up to a limit hold, and none beyond."""
    tried: list[Tried] = []
    while (load := next_load(tried, capacity)) is not None:
        tried.append(Tried(load, load <= limit))
    return tried


@pytest.mark.parametrize("limit", [0.11, 0.29, 0.5, 0.69, 0.84, 0.99, 1.0, 1.3])
def test_the_limit_is_found_to_within_five_percent(limit: float) -> None:
    tried = search(100 * limit, 100.0)
    found = highest(tried)
    assert found is not None
    assert found <= 100 * limit <= found * CLOSE
    assert len(tried) <= MOST


def test_a_load_that_held_by_luck_above_one_that_did_not_does_not_count() -> None:
    assert highest([Tried(30, True), Tried(50, False), Tried(70, True)]) == 30
    assert highest([]) is None


def p99_wait(load: float, service: float, queries: int, rng: np.random.Generator) -> float:
    """Simulate a queue with random arrivals and one server that always takes as long (M/D/1); seconds in the system."""
    arrivals = np.cumsum(rng.exponential(1 / load, queries))
    served = np.arange(1, queries + 1) * service
    finished = served + np.maximum.accumulate(arrivals - served + service)
    return float(np.quantile(finished - arrivals, 0.99))


def test_the_limit_of_a_real_queue_is_found() -> None:
    """The load at which the 99th percentile of M/D/1 is five service times, by bisection over long simulations."""
    service, target, rng = 0.01, 0.05, np.random.default_rng(7)
    low, high = 0.1 / service, 1.0 / service
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if p99_wait(middle, service, 200_000, rng) <= target else (low, middle)
    found = []
    for _ in range(40):
        tried: list[Tried] = []
        while (load := next_load(tried, 1 / service)) is not None:
            tried.append(Tried(load, p99_wait(load, service, 2_000, rng) <= target))
        best = highest(tried)
        assert best is not None
        found.append(best)
    assert float(np.exp(np.mean(np.log(found)))) == pytest.approx(low, rel=0.08)
