"""The table of scenarios: what a row says fits together, and records know all of them."""

import pytest

from levelfield import scenarios
from levelfield.scenarios import Scenario
from levelfield.worker.messages import FROM_DATASET


def test_every_name_has_one_row() -> None:
    assert sorted(scenario.name for scenario in scenarios.SCENARIOS) == sorted(scenarios.NAMES)
    assert scenarios.in_order(("latency", "cold-start", "latency")) == ["cold-start", "latency"]


@pytest.mark.parametrize("scenario", scenarios.SCENARIOS, ids=lambda scenario: scenario.name)
def test_what_a_scenario_says_fits_together(scenario: Scenario) -> None:
    assert scenario.title
    assert scenario.phrase
    assert scenario.timed or scenario.driven or not (scenario.per_item or scenario.batched or scenario.trains)
    assert scenario.driven == (scenario.sample == "LoadGen test")
    assert scenario.unit == ("bytes" if scenario.sample == "peak memory" else "ns")
    assert scenario.per_item or not scenario.batched, "of calls with many items, the time of an item counts"
    assert scenario.timed or not scenario.profiled
    assert not scenario.loaded_as or scenario.loaded_as in scenarios.NAMES
    assert scenario.from_dataset == (scenario.name == FROM_DATASET), "workers know it by this name"
