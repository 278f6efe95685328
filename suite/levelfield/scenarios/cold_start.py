"""Time from the start of a launch to its first answer, with an empty compile cache where one is kept."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="cold-start",
    title="Cold start",
    phrase="cold start",
    sample="cold start",
    loaded_as="latency",
)
