"""Peak memory of a launch that loads and answers."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="memory",
    title="Memory",
    phrase="peak memory",
    sample="peak memory",
    unit="bytes",
    loaded_as="latency",
)
