"""Time of an item where calls take several, whose inputs and outputs stay in the accelerator's memory."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="throughput-device",
    title="Throughput on the device",
    phrase="throughput on the device",
    per_item=True,
    batched=True,
    on_device=True,
)
