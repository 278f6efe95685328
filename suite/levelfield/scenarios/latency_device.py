"""Time of one call whose input and output stay in the accelerator's memory."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="latency-device",
    title="Latency on the device",
    phrase="latency on the device",
    on_device=True,
)
