"""Time of an item in a step of training: forward, backward and update."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="training",
    title="Training",
    phrase="training",
    per_item=True,
    trains=True,
    profiled=True,
    not_of_a_file="a file says how to answer, not how to train",
)
