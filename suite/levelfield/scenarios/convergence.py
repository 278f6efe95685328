"""Time until a small sibling of the model, trained on real data, reaches a target accuracy."""

from levelfield.scenarios.types import Scenario

SCENARIO = Scenario(
    name="convergence",
    title="Time to accuracy",
    phrase="time to accuracy",
    sample="training run",
    not_of_a_file="a file says how to answer, not how to train",
)
