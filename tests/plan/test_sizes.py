"""Batches, and their limit."""

import pytest

from suite.errors import LevelfieldError
from suite.plan.sizes import MAX_BATCH, batches


def test_batches_keep_their_order_and_stand_once() -> None:
    assert batches((8, 1, 8, MAX_BATCH), (4,)) == (8, 1, MAX_BATCH)
    assert batches((), (4, 16)) == (4, 16)


@pytest.mark.parametrize("batch", [-1, 0, MAX_BATCH + 1])
def test_a_batch_out_of_range_is_refused(batch: int) -> None:
    with pytest.raises(LevelfieldError, match=f"A batch of {batch} cannot be measured"):
        batches((1, batch), ())
