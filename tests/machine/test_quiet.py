"""What makes timings vary, judged before a run."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from levelfield.machine import counters, quiet
from levelfield.machine.quiet import LIMIT_NS, wait_until_idle
from levelfield.record.schema import Noise
from tests.commands import eventually
from tests.machine.folders import states, write
from tests.machine.processes import ASLEEP, BUSY, known, process

QUIET = Noise(
    elapsed_ns=1_000_000_000,
    steal_ns=0,
    pressure_ns=0,
    others_ns=0,
    supervisor_ns=0,
    idle_workers_ns=0,
    context_switches=100,
    major_faults=0,
    swapped_pages=0,
)


@pytest.mark.parametrize(
    ("changes", "topic"),
    [
        ({"steal_ns": 100_000_000}, "stolen time"),
        ({"others_ns": 300_000_000}, "other processes"),
        ({"pressure_ns": 300_000_000}, "waiting for a CPU"),
    ],
)
def test_noise_right_now(changes: dict[str, int], topic: str) -> None:
    found = states(quiet.describe(msgspec.structs.replace(QUIET, **changes), 2, ["cc1plus (7) 90 %"]))
    assert found.pop(topic) == "warn"
    assert set(found.values()) == {"ok"}


def test_nobody_is_told_to_stop_what_is_not_visible() -> None:
    found = {one.topic: one for one in quiet.describe(msgspec.structs.replace(QUIET, others_ns=2_000_000_000), 2, [])}
    assert found["other processes"].state == "warn"
    assert "not visible from here" in found["other processes"].message
    assert "Stop" not in found["other processes"].fix


def test_a_busy_process_is_named() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            found = {finding.topic: finding for finding in quiet.now(0.5)}
        finally:
            busy.kill()
    assert found["other processes"].state == "warn"
    assert "of a CPU" in found["other processes"].message


def test_a_processor_with_everything_on(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu"
    write(
        tmp_path,
        {
            f"{folder}/online": "0-3",
            f"{folder}/cpu0/cpufreq/scaling_governor": "powersave",
            f"{folder}/intel_pstate/no_turbo": "0",
            f"{folder}/smt/active": "1",
            **{f"{folder}/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}" for n in range(4)},
        },
    )
    found = {finding.topic: finding for finding in quiet.clock(tmp_path)}
    assert set(found) == {"governor", "turbo", "SMT"}
    assert all(finding.state == "warn" for finding in found.values())
    assert "each of the 2 cores" in found["SMT"].message
    assert "--threads 2" in found["SMT"].fix


NO_LIMIT_NS = 10**13
SPUN_S = 0.15
SPINS = f"""
import time
print('up', flush=True)
while time.process_time() < {SPUN_S}: pass
time.sleep(60)
"""


def test_sleeping_workers_are_not_waited_for_until_the_limit() -> None:
    with process(ASLEEP) as one, process(ASLEEP) as other:
        waited = wait_until_idle({"one": one.pid, "other": other.pid}, limit_ns=NO_LIMIT_NS)
    assert (waited.busy, waited.unseen) == ((), ())


def test_a_worker_that_spins_for_a_while_is_waited_for() -> None:
    with process(SPINS) as child:
        assert wait_until_idle({"spins": child.pid}, limit_ns=NO_LIMIT_NS).busy == ()
        assert known(counters.process_cpu_ns(child.pid)) >= SPUN_S * 1e9


def test_a_worker_that_never_stops_is_named_at_the_limit() -> None:
    with process(BUSY) as endless, process(ASLEEP) as idle:
        assert eventually(lambda: not counters.family_runs(idle.pid))
        waited = wait_until_idle({"endless": endless.pid, "idle": idle.pid})
    assert waited.busy == ("endless",)
    assert waited.waited_ns >= LIMIT_NS
