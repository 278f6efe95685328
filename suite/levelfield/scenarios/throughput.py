"""Time of an item where calls take several: 1 ÷ throughput."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="throughput",
    title="Throughput",
    phrase="throughput",
    per_item=True,
    batched=True,
    profiled=True,
    loaded_as="latency",
)
