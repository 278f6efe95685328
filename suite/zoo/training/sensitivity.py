"""Compute the table `suite.zoo.training.parity.SENSITIVITY` again: `python -m suite.zoo.training.sensitivity mlp`.

Some seconds for the MLP, some minutes for the others.
"""

import sys

from suite.zoo import models, weights
from suite.zoo.training import parity, trajectory
from suite.zoo.training.parity import DRAWS, Errors


def measure(name: str, *, batch: int | None = None, steps: int | None = None) -> Errors:
    """Return the largest error that weights perturbed by 2⁻²⁴ make in a model's trajectory, over the draws.

    Parameters
    ----------
    name
        The model.
    batch, steps
        As in `trajectory.run`; those of the recipe where None.
    """
    model = models.get(name)
    made = weights.make(model)
    words = {} if steps is None else {"steps": steps}
    exact = trajectory.run(model, made, batch=batch, **words)
    found = [
        parity.compare(trajectory.run(model, parity.perturbed(model, made, draw), batch=batch, **words), exact)
        for draw in range(DRAWS)
    ]
    statistics = [errors.statistics for errors in found if errors.statistics is not None]
    return Errors(
        losses=max(errors.losses for errors in found),
        gradients=max(errors.gradients for errors in found),
        weights=max(errors.weights for errors in found),
        statistics=max(statistics) if statistics else None,
    )


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(each, measure(each), flush=True)
