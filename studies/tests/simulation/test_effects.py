"""The simulated world has the effects of the published records."""

import pytest

from studies.simulation import effects, world


def test_contention_slows_every_backend_as_in_its_worst_case() -> None:
    found = {each.backend: each.factors for each in effects.contention()}
    assert found.keys() == world.FACTORS.keys()
    for backend, factors in found.items():
        assert len(factors) >= 5
        assert max(factors) == pytest.approx(world.FACTORS[backend], abs=0.006)


def test_modes_are_those_of_the_run_with_most_launches() -> None:
    found = effects.modes()
    assert found.slow / found.launches == pytest.approx(world.SLOW_MODE_SHARE, abs=0.005)
    assert found.factor == pytest.approx(world.SLOW_MODE_FACTOR, abs=0.05)
