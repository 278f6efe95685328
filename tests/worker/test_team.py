"""Processes that train together: who is led, who is missed, and what is put together."""

import os
import signal
import subprocess
import sys

import msgspec
import pytest

from levelfield.record.measured import Memory
from levelfield.worker import team
from levelfield.worker.messages import Failed, Probed, Reply, Trained
from tests.commands import IMPORTS, eventually
from tests.known import known
from tests.launchers.scripts import gone

LEADER = """
import os, sys, time
from levelfield.worker.messages import Load, Loaded, Task
from levelfield.worker.server import ReplyWriter
from levelfield.worker.team import Team
from tests.commands import IMPORTS
replies = ReplyWriter(os.fdopen(1, "wb", closefd=False))
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
leader = Team(2, replies.fail_and_exit)
replies.expect_one()
"""
WAITS = """
print(leader._peers[0]._process.pid, file=sys.stderr, flush=True)
time.sleep(600)  # as an engine waits
"""
LEADS = """
task = Task(backend="canary", model="canary", batch=1, threads=1)
leader.post(Load(task, launch_measured=False))
(loaded,) = leader.collect(Loaded)
before = leader.usage()
step = leader.led(len)
print(sum(step([0]) for _ in range(20)))
after = leader.usage()
assert after.user_ns + after.system_ns > before.user_ns + before.system_ns
print(leader.replica.rank, len(os.sched_getaffinity(0)), loaded.version)
"""


def lead(code: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LEADER + code],
        env=os.environ | {"PYTHONPATH": IMPORTS} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two processes need two CPUs")


@needs_two_cpus
def test_the_others_take_the_steps_that_the_first_takes() -> None:
    out, err = lead(LEADS).communicate(timeout=60)
    assert out.startswith("20\n0 1 "), err


@needs_two_cpus
def test_cpus_are_shared_in_the_order_in_which_they_are_named() -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    code = "print(os.sched_getaffinity(0), os.sched_getaffinity(leader._peers[0]._process.pid))"
    out, err = lead(code, LEVELFIELD_CPUS=f"{second},{first}").communicate(timeout=60)
    assert out == f"{{{second}}} {{{first}}}\n", err


@needs_two_cpus
def test_one_that_dies_is_reported_while_the_first_waits_for_it() -> None:
    with lead(WAITS) as process:
        os.kill(int(known(process.stderr).readline()), signal.SIGKILL)
        reply: Reply = msgspec.json.decode(known(process.stdout).readline(), type=Reply)
        assert isinstance(reply, Failed)
        assert reply.kind == "crashed"
        assert reply.message.startswith("Process 2 of 2 was killed (SIGKILL); the usual reason is memory")
        assert process.wait(60) != 0


@needs_two_cpus
def test_the_others_end_with_the_first() -> None:
    with lead(WAITS) as process:
        other = int(known(process.stderr).readline())
        process.kill()
    assert eventually(lambda: gone(other))


def test_losses_are_means_and_weights_must_be_the_same() -> None:
    one = Trained(losses=(1.0, 2.0), gradients=(3.0,), weights=(4.0,), statistics=())
    other = msgspec.structs.replace(one, losses=(3.0, 4.0))
    assert team.combine_trained([one, other]).losses == (2.0, 3.0)
    apart = msgspec.structs.replace(one, weights=(4.1,))
    with pytest.raises(ValueError, match="did not train together"):
        team.combine_trained([one, apart])


def test_memory_is_that_of_all() -> None:
    one = Probed(
        Memory(20, 10, "VmHWM", {"peak allocated": 5}), libraries=(), distributions={}, environment={}, affinity=(1,),
        python="3", threads_alive=3,
    )  # fmt: skip
    found = team.sum_memory(
        [one, msgspec.structs.replace(one, memory=Memory(2, 1, "VmHWM", {"peak allocated": 5}), affinity=(0,))]
    )
    assert found.memory == Memory(22, 11, "VmHWM, summed over 2 processes", {"peak allocated": 10})
    assert (found.affinity, found.threads_alive) == ((0, 1), 6)
