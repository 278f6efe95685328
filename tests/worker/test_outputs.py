"""Outputs of a user's own file, as they are sent."""

import numpy as np
import pytest

from levelfield.worker import outputs


def test_a_copy_does_not_change_with_the_array() -> None:
    array = np.zeros(3, np.float32)
    (kept,) = outputs.copies(array)
    array += 1
    assert not kept.any()


def test_calls_are_joined_along_the_batch_and_each_output_by_itself() -> None:
    calls = [[np.ones((2, 3), np.float32), np.array([True])], [np.zeros((2, 3), np.float32), np.array([False])]]
    values, truths = outputs.concatenated(calls)
    assert (values.shape, values.dtype, values.exact) == ((4, 3), "<f4", False)
    assert (truths.shape, truths.dtype, truths.exact) == ((2,), "<f8", True)
    np.testing.assert_array_equal(np.frombuffer(truths.values), [1.0, 0.0])


@pytest.mark.parametrize("shapes", [((2, 3), (1, 4)), ((), ())])
def test_outputs_of_another_shape_in_every_call_are_laid_out_flat(shapes: tuple[tuple[int, ...], ...]) -> None:
    (found,) = outputs.concatenated([[np.ones(shape)] for shape in shapes])
    assert found.shape == (sum(int(np.prod(shape)) for shape in shapes),)
    assert found.dtype == "<f8"
