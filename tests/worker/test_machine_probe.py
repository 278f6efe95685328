"""The probe of the machine, for real, on the CPUs that this process may use."""

from collections.abc import Iterator

import pytest

from levelfield.worker.machine_probe import SLICE_BYTES, ProbeThreads
from levelfield.worker.messages import NotLoadedError, Polled, PollMachine, ProbeMachine
from levelfield.worker.server import Service

BUFFER_BYTES = 4 * SLICE_BYTES


@pytest.fixture(scope="module")
def probe() -> Iterator[ProbeThreads]:
    made = ProbeThreads(BUFFER_BYTES)
    yield made
    made.close()


def test_the_threads_stay_from_one_request_to_the_next() -> None:
    service = Service()
    with pytest.raises(NotLoadedError):
        service.answer(PollMachine())
    service.answer(ProbeMachine(BUFFER_BYTES))
    first = service._machine
    assert isinstance(service.answer(PollMachine()), Polled)
    assert service._machine is first
    service.answer(ProbeMachine(2 * BUFFER_BYTES))
    assert service._machine is not first
    assert service._machine is not None
    service._machine.close()
