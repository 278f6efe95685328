"""What is measured: the scenarios, what sets some of them apart, and the order in which they run."""

from collections.abc import Collection, Iterable

from suite.records.schema import Scenario

SCENARIOS: tuple[Scenario, ...] = (
    "latency",
    "throughput",
    "training",
    "convergence",
    "data-pipeline",
    "cold-start",
    "memory",
    "latency-device",
    "throughput-device",
)
ON_DEVICE: tuple[Scenario, ...] = ("latency-device", "throughput-device")
"""Scenarios whose inputs and outputs stay on the GPU; in the others they are NumPy arrays in host memory."""
FED: Scenario = "data-pipeline"
"""Scenario whose batches come from a dataset on disk; models without one are left out."""
BATCHED: tuple[Scenario, ...] = ("throughput", "throughput-device", FED)
"""Scenarios that are measured at the batch sizes asked for. A dataset may be read one item at a time: the next one is
read during the call, so that its rate is not 1 ÷ latency."""
TRAINED: Scenario = "training"
"""Scenario that measures steps of training; in fp32 alone."""
TO_TARGET: Scenario = "convergence"
"""Scenario that trains to a target accuracy, with hyper-parameters of its own; models without such a network are left
out."""
ALONE: tuple[Scenario, ...] = ("cold-start", "memory", TO_TARGET)
"""Scenarios in which the launch itself is the turn."""

_ORDER: tuple[Scenario, ...] = (
    "cold-start",
    "memory",
    "latency",
    "throughput",
    TRAINED,
    TO_TARGET,
    FED,
    *ON_DEVICE,
)


def by_name(scenario: Scenario, asked: Collection[str], of_profile: Collection[str]) -> bool:
    """Say whether a scenario was asked for by name.

    To name all scenarios of a profile is to ask for the profile: that is how a report spells out its own command.
    """
    return scenario in asked and set(asked) != set(of_profile)


def in_order(scenarios: Iterable[str]) -> list[Scenario]:
    """Cold starts come first: they need empty compile caches, and fill them for the rest of the run."""
    wanted = set(scenarios)
    return [scenario for scenario in _ORDER if scenario in wanted]
