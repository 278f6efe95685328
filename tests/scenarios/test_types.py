"""The registry of scenarios: what one says of itself fits together, and records know all of them."""

import importlib
import pkgutil
from typing import get_args

import pytest

from levelfield import scenarios
from levelfield.scenarios import Scenario, ScenarioName
from levelfield.worker.messages import FROM_DATASET


def test_every_module_is_registered_under_its_own_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(scenarios.__path__)} - {"types"}
    assert modules == {name.replace("-", "_") for name in scenarios.NAMES}
    for name in scenarios.NAMES:
        module = importlib.import_module(f"levelfield.scenarios.{name.replace('-', '_')}")
        assert module.SCENARIO is scenarios.get(name)
        assert module.SCENARIO.name == name
    assert sorted(scenarios.NAMES) == sorted(get_args(ScenarioName))


@pytest.mark.parametrize("scenario", [scenarios.get(name) for name in scenarios.NAMES], ids=scenarios.NAMES)
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


def test_cold_starts_come_first_and_names_stand_once() -> None:
    assert scenarios.in_order(("latency", "cold-start", "latency")) == ["cold-start", "latency"]
    assert sorted(scenarios.in_order(scenarios.NAMES)) == sorted(scenarios.NAMES)
