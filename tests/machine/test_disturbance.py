import msgspec
import pytest

from levelfield.machine.disturbance import reasons
from levelfield.record.disturbance import sentence
from levelfield.record.schema import Absent, Noise

QUIET = Noise(
    elapsed_ns=500_000_000,
    steal_ns=0,
    pressure_ns=5_000_000,
    others_ns=10_000_000,
    supervisor_ns=1_000_000,
    idle_workers_ns=1_000_000,
    context_switches=300,
    major_faults=0,
    swapped_pages=0,
)


def turns(count: int = 8, **changes: int | Absent) -> list[Noise]:
    return [msgspec.structs.replace(QUIET, **changes) for _ in range(count)]


def disturbed(noises: list[Noise], cpus: int) -> str:
    return sentence(reasons(noises, cpus))


def test_a_quiet_round_is_not_disturbed() -> None:
    assert disturbed(turns(), 2) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steal_ns": 30_000_000}, "the hypervisor took 3.0% of the CPU time"),
        ({"others_ns": 80_000_000}, "other processes took 8.0% of the CPU time"),
        ({"idle_workers_ns": 60_000_000}, "workers that should have been idle took 6.0% of the CPU time"),
        ({"pressure_ns": 100_000_000, "others_ns": 30_000_000}, "something waited for a CPU 20.0% of the time"),
        ({"swapped_pages": 100}, "800 pages were swapped"),
        ({"throttled": 1}, "the processor was throttled 8 times"),
        ({"quota_throttled": 1}, "a CPU quota throttled processes 8 times"),
    ],
)
def test_each_outside_signal_is_named_with_its_size(changes: dict[str, int], words: str) -> None:
    assert disturbed(turns(**changes), 2).startswith(words)


def test_waiting_for_one_another_is_no_disturbance() -> None:
    assert disturbed(turns(pressure_ns=400_000_000, others_ns=0), 2) == ""


def test_one_tick_in_a_short_round_is_not_believed() -> None:
    short = turns(2, elapsed_ns=50_000_000, steal_ns=10_000_000, others_ns=10_000_000, pressure_ns=0)
    assert disturbed(short, 2) == ""
    assert disturbed(turns(2, elapsed_ns=50_000_000, steal_ns=30_000_000), 2)


def test_what_is_absent_disturbs_nothing_and_dilutes_nothing() -> None:
    unknown = Absent("the worker ended")
    assert disturbed(turns(steal_ns=unknown, others_ns=unknown, idle_workers_ns=unknown, pressure_ns=unknown), 2) == ""
    mixed = turns(6, others_ns=unknown) + turns(2, others_ns=100_000_000)
    assert disturbed(mixed, 2) == "other processes took 10.0% of the CPU time"


def test_a_single_window_is_judged_by_what_two_ticks_of_its_clocks_can_show() -> None:
    """In 150 ms two ticks of 10 ms are 13 %."""
    one = msgspec.structs.replace(QUIET, elapsed_ns=150_000_000, others_ns=30_000_000)
    assert reasons([one], 2) == ()
    (found,) = reasons([msgspec.structs.replace(one, others_ns=60_000_000)], 2)
    assert found.signal == "others"
    assert found.limit == pytest.approx(20 / 150)
    (quota,) = reasons([msgspec.structs.replace(one, quota_throttled=1)], 2)
    assert quota.signal == "quota"
