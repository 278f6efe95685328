"""Time of one call of a single operator."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="operators",
    title="Operators",
    phrase="latency of an operator",
    operators=True,
    profiled=True,
    loaded_as="latency",
    not_of_a_file="a file is a network",
)
