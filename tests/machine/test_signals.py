import time
from pathlib import Path

import pytest

from levelfield.machine import counters
from levelfield.machine.signals import Signals, difference
from levelfield.record.schema import Absent
from tests.machine.folders import write
from tests.machine.processes import ASLEEP, BUSY, known, process


def test_active_idle_and_foreign_time_are_distinguished() -> None:
    with process(BUSY) as active, process(ASLEEP) as idle, process(BUSY) as stranger, Signals() as signals:
        workers = {"active": active.pid, "idle": idle.pid}
        before = signals.snapshot(workers)
        begun = [known(counters.process_cpu_ns(each.pid)) for each in (active, stranger)]
        time.sleep(0.5)
        ended = [known(counters.process_cpu_ns(each.pid)) for each in (active, stranger)]
        after = signals.snapshot(workers)
    active_ns, stranger_ns = (end - begin for begin, end in zip(begun, ended, strict=True))
    noise = difference(before, after, "active")
    assert noise.elapsed_ns >= 500_000_000
    assert known(noise.idle_workers_ns) < 10_000_000
    # Counters of running CPUs lag by up to a timer period (4 ms at 250 Hz, 10 ms at 100 Hz).
    assert known(noise.others_ns) > stranger_ns - 3 * counters.TICK_NS
    assert noise.supervisor_ns < 100_000_000
    mistaken = difference(before, after, "idle")
    assert known(mistaken.idle_workers_ns) >= active_ns
    assert known(mistaken.others_ns) == known(noise.others_ns)


def test_a_worker_that_dies_in_between_leaves_absence_not_zero() -> None:
    with process(ASLEEP) as one, process(ASLEEP) as other, Signals() as signals:
        workers = {"one": one.pid, "other": other.pid}
        before = signals.snapshot(workers)
        other.kill()
        other.wait()
        after = signals.snapshot(workers)
    noise = difference(before, after, "one")
    assert isinstance(noise.idle_workers_ns, Absent)
    assert "other" in noise.idle_workers_ns.reason
    assert isinstance(noise.others_ns, Absent)
    assert known(noise.context_switches) > 0
    assert difference(before, after, "other").idle_workers_ns == pytest.approx(0, abs=10_000_000)


def test_where_nothing_can_be_read_all_is_absent(tmp_path: Path) -> None:
    with Signals(root=tmp_path) as signals:
        noise = difference(signals.snapshot({}), signals.snapshot({}), None)
        assert signals.cpus == ()
    for value in (noise.steal_ns, noise.pressure_ns, noise.others_ns, noise.swapped_pages, noise.frequency_khz):
        assert isinstance(value, Absent)
        assert value.reason
    assert noise.idle_workers_ns == 0


def machine(root: Path, *, with_group: str | None = None, with_scheduler: bool = False) -> None:
    """Write a machine of two CPUs that were busy for 100 s and 50 s, with all sensors of real metal."""
    files = {
        "sys/devices/system/cpu/online": "0-1",
        "proc/stat": "cpu 1 2\ncpu0 9000 0 1000 5000 0 0 0 30 0 0\ncpu1 4000 500 500 9000 7 0 0 12 0 0\n"
        "intr 1 2 3\nctxt 4242\n",
        "proc/vmstat": "nr_free_pages 1\npswpin 3\npswpout 4\npgfault 9\npgmajfault 7\n",
        "proc/pressure/cpu": "some avg10=0.36 avg60=0.21 avg300=0.19 total=6706525\nfull avg10=0 total=0\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3000000\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "2000000\n",
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "5\n",
        "sys/class/thermal/thermal_zone0/type": "acpitz\n",
        "sys/class/thermal/thermal_zone0/temp": "99000\n",
        "sys/class/hwmon/hwmon0/name": "k10temp\n",
        "sys/class/hwmon/hwmon0/temp1_input": "56000\n",
    }
    if with_group is not None:
        files["sys/fs/cgroup/cpuacct/cpuacct.usage_percpu"] = with_group
    if with_scheduler:
        files["proc/schedstat"] = (
            "version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 100000000001 5 6\ndomain0 3 1 2\n"
            "cpu1 0 0 0 0 0 0 50000000002 5 6\n"
        )
    write(root, files)


def test_the_sensors_of_real_metal(tmp_path: Path) -> None:
    machine(tmp_path)
    with Signals(root=tmp_path) as signals:
        now = signals.snapshot({})
    assert (now.steal_ns, now.pressure_ns) == (42 * counters.TICK_NS, 6_706_525_000)
    assert (now.context_switches, now.major_faults, now.swapped_pages) == (4242, 7, 7)
    assert (now.frequency_khz, now.temperature_mc, now.throttled) == (2_500_000, 56_000, 5)


def test_busy_time_comes_from_the_finest_source_that_is_plausible(tmp_path: Path) -> None:
    machine(tmp_path, with_group="100000000003 50000000004 0 0 \n", with_scheduler=True)
    with Signals(root=tmp_path) as signals:
        assert signals.busy_source.startswith("cpuacct")
        assert signals.snapshot({}).busy_ns == 150_000_000_007


def test_a_group_that_covers_only_a_container_is_not_taken_for_the_machine(tmp_path: Path) -> None:
    machine(tmp_path, with_group="1000000003 4 \n", with_scheduler=True)
    with Signals(root=tmp_path) as signals:
        assert signals.busy_source == "/proc/schedstat"
        assert signals.snapshot({}).busy_ns == 150_000_000_003
