"""Batches that timed calls take in turn."""

import numpy as np

from levelfield.backends.protocol import Arrays
from levelfield.worker import rotation


def make(first: int) -> Arrays:
    return {"x": np.arange(first, first + 4, dtype=np.float32)}


def test_each_batch_goes_on_where_the_one_before_it_ended() -> None:
    made = list(rotation.batches(make, sets=3, batch=4))
    np.testing.assert_array_equal(np.concatenate([each["x"] for each in made]), np.arange(12))


def test_order_and_content_decide_the_digest() -> None:
    first, second, third = rotation.batches(make, sets=3, batch=4)
    digests = {rotation.digest(each) for each in ([first, second], [second, first], [first, third], [first])}
    assert len(digests) == 4
