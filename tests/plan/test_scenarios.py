"""The scenarios, and their order."""

from suite.plan.scenarios import SCENARIOS, in_order


def test_every_scenario_has_a_place_in_the_order() -> None:
    assert sorted(in_order(SCENARIOS)) == sorted(SCENARIOS)
    assert in_order(("latency", "cold-start", "latency")) == ["cold-start", "latency"]
