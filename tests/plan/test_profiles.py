"""Profiles hold what they say."""

from levelfield import plan
from levelfield.plan.profiles import PROFILES
from levelfield.zoo import models


def test_profiles_hold_what_they_say() -> None:
    for profile in PROFILES.values():
        assert set(profile.batches) == {*plan.names_of_models(), "berthead"}
        assert set(profile.training_batches) == set(models.trained())
        assert set(profile.trained) | set(profile.batched) <= set(plan.names_of_models())
        assert all(min(sizes) > 1 for sizes in profile.batches.values()), "one item at a time is latency"
        assert bool(profile.batched) == ("throughput" in profile.scenarios)
        assert bool(profile.trained) == ("training" in profile.scenarios)
        assert profile.generations >= (1 if "smoke" in profile.labels else 5), "fewer than five are never ranked"
        assert profile.window_ns >= 50_000_000
        assert profile.rounds >= 2
        assert profile.says
    assert PROFILES["smoke"].budget_seconds <= 180
    assert PROFILES["standard"].budget_seconds <= 600
