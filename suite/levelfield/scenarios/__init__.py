"""What can be measured: one module for each scenario, and the registry of scenarios."""

from collections.abc import Iterable
from typing import get_args

from levelfield.scenarios import (
    cold_start,
    convergence,
    data_pipeline,
    decode,
    generate,
    latency,
    latency_device,
    loadgen_multi_stream,
    loadgen_offline,
    loadgen_server,
    loadgen_single_stream,
    memory,
    operators,
    prefill,
    throughput,
    throughput_device,
    training,
)
from levelfield.scenarios.types import Scenario, ScenarioName

__all__ = ["NAMES", "Scenario", "ScenarioName", "get", "in_order"]

_IN_ORDER: tuple[Scenario, ...] = (
    cold_start.SCENARIO,
    memory.SCENARIO,
    latency.SCENARIO,
    throughput.SCENARIO,
    prefill.SCENARIO,
    decode.SCENARIO,
    generate.SCENARIO,
    operators.SCENARIO,
    training.SCENARIO,
    convergence.SCENARIO,
    data_pipeline.SCENARIO,
    loadgen_single_stream.SCENARIO,
    loadgen_multi_stream.SCENARIO,
    loadgen_server.SCENARIO,
    loadgen_offline.SCENARIO,
    latency_device.SCENARIO,
    throughput_device.SCENARIO,
)
"""In the order in which they are measured. Cold starts come first: they need empty compile caches, and fill them for
the rest of the run."""
_BY_NAME: dict[str, Scenario] = {each.name: each for each in _IN_ORDER}
NAMES: tuple[ScenarioName, ...] = get_args(ScenarioName)
"""In the order in which they are listed."""


def get(name: str) -> Scenario:
    """Return the scenario of that name.

    Raises KeyError: there is none: names from the command line and from records are checked before.
    """
    return _BY_NAME[name]


def in_order(names: Iterable[str]) -> list[ScenarioName]:
    """Return `names` in the order in which they are measured, each once."""
    chosen = set(names)
    return [each.name for each in _IN_ORDER if each.name in chosen]
