"""The probe of the machine, for real, on the CPUs that this process may use."""

import os
import threading
import time
from collections.abc import Iterator

import pytest

from levelfield.launchers import credible
from levelfield.worker.machine_probe import SLICE_BYTES, MachineProbe, MachineProbes
from levelfield.worker.messages import MachineProbed, ProbeMachine

BUFFER_BYTES = 4 * SLICE_BYTES


@pytest.fixture(scope="module")
def probe() -> Iterator[MachineProbe]:
    made = MachineProbe(BUFFER_BYTES)
    yield made
    made.close()


def test_a_probe_times_all_three_parts(probe: MachineProbe) -> None:
    found = probe.probe(arithmetic_alone=False)
    assert found.memory_ns is not None
    assert found.pages_ns is not None
    assert min(found.arithmetic_ns, found.memory_ns, found.pages_ns) > 10_000


def test_arithmetic_alone_leaves_the_rest_out(probe: MachineProbe) -> None:
    found = probe.probe(arithmetic_alone=True)
    assert (found.memory_ns, found.pages_ns) == (None, None)


def test_every_cpu_has_a_thread_of_its_own_and_they_end() -> None:
    def names() -> set[str]:
        return {each.name for each in threading.enumerate() if each.name.startswith("machine probe")}

    before = names()
    made = MachineProbe(BUFFER_BYTES)
    assert names() - before or before == {f"machine probe {cpu}" for cpu in os.sched_getaffinity(0)}
    made.close()
    end = time.monotonic() + 10
    while names() != before and time.monotonic() < end:
        time.sleep(0.01)
    assert names() == before


def test_a_process_on_one_cpu_probes_that_one() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        made = MachineProbe(BUFFER_BYTES)
        assert made.probe(arithmetic_alone=True).arithmetic_ns > 0
        assert len(made._threads) == 1
        made.close()
    finally:
        os.sched_setaffinity(0, allowed)


def test_the_memory_is_read_slice_by_slice(probe: MachineProbe) -> None:
    thread = probe._threads[0]
    assert len(thread._slices) == BUFFER_BYTES // len(probe._threads) // SLICE_BYTES
    starts = {each.__array_interface__["data"][0] for each in thread._slices}
    assert len(starts) == len(thread._slices)


def test_a_thread_that_cannot_be_pinned_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int, _cpus: object) -> None:
        raise PermissionError("not here")

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    with pytest.raises(OSError, match="not here"):
        MachineProbe(BUFFER_BYTES)


def test_the_threads_stay_from_one_request_to_the_next() -> None:
    probes = MachineProbes()
    probes.answer(ProbeMachine(BUFFER_BYTES))
    first = probes._made
    probes.answer(ProbeMachine(BUFFER_BYTES, arithmetic_alone=True))
    assert probes._made is first
    probes.answer(ProbeMachine(2 * BUFFER_BYTES))
    assert probes._made is not first
    assert probes._made is not None
    probes._made.close()


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (MachineProbed(900_000, 400_000, 500_000), ""),
        (MachineProbed(900_000), ""),
        (MachineProbed(0, 400_000, 500_000), "a probe with a call that took no time"),
        (MachineProbed(900_000, -1, 500_000), "a number that nothing counts"),
        (MachineProbed(10**13), "a probe that took longer than the time since it was asked for"),
    ],
)
def test_a_probe_that_cannot_be_true_is_refused(found: MachineProbed, wrong: str) -> None:
    assert credible.implausibility(found, 5_000_000) == wrong
