"""Time of one call with one item."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="latency",
    title="Latency",
    phrase="latency",
    profiled=True,
)
