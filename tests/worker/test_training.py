"""Training in a worker, with no framework."""

import math

import numpy as np
import pytest

from levelfield.backends.parallel import Replica
from levelfield.backends.protocol import Arrays
from levelfield.worker import training


def test_processes_share_a_batch_and_miss_no_item() -> None:
    batch: Arrays = {"x": np.arange(8), "labels": np.arange(8) * 10}
    shares = [training.share(batch, Replica(rank, 4, ())) for rank in range(4)]
    for name, whole in batch.items():
        np.testing.assert_array_equal(np.concatenate([each[name] for each in shares]), whole)
    assert training.share(batch, None) is batch


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_ends_the_training(loss: float) -> None:
    losses = iter([0.5, loss])

    def step(_: Arrays) -> float:
        return next(losses)

    watched = training.watched(step)
    assert watched({}) == 0.5
    with pytest.raises(training.DivergedError, match=f"the loss is {loss}"):
        watched({})
