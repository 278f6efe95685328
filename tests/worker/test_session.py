"""A loaded task by itself, with the canary's backend."""

import time

import numpy as np
import numpy.typing as npt
import pytest

from levelfield.backends import registry
from levelfield.backends.protocol import Options
from levelfield.worker import messages
from levelfield.worker.session import Session, concatenated
from tests.worker.conversation import CANARY


def test_outputs_of_a_feed_are_copied_before_the_next_call_overwrites_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO returns a view of the same memory from every call."""
    options, load = Options(threads=1), messages.Load(CANARY, launch_measured=False)
    backend = registry.create("canary", options)
    session = Session(CANARY, backend, options, None, load, since_ns=time.perf_counter_ns())
    memory = np.zeros((1, 2), np.float32)

    class Fed:
        def answer(self) -> npt.NDArray[np.float32]:
            memory[:] += 1
            return memory

    monkeypatch.setattr(session, "_fed", Fed())
    verified = session.verify(messages.Verify(3))
    np.testing.assert_array_equal(np.frombuffer(verified.output, "<f4"), [1, 1, 2, 2, 3, 3])


def test_calls_are_joined_along_the_batch_and_each_output_by_itself() -> None:
    calls = [[np.ones((2, 3), np.float32), np.array([True])], [np.zeros((2, 3), np.float32), np.array([False])]]
    values, truths = concatenated(calls)
    assert (values.shape, values.dtype, values.exact) == ((4, 3), "<f4", False)
    assert (truths.shape, truths.dtype, truths.exact) == ((2,), "<f8", True)
    np.testing.assert_array_equal(np.frombuffer(truths.values), [1.0, 0.0])


@pytest.mark.parametrize("shapes", [((2, 3), (1, 4)), ((), ())])
def test_outputs_of_another_shape_in_every_call_are_laid_out_flat(shapes: tuple[tuple[int, ...], ...]) -> None:
    (found,) = concatenated([[np.ones(shape)] for shape in shapes])
    assert found.shape == (sum(int(np.prod(shape)) for shape in shapes),)
    assert found.dtype == "<f8"
