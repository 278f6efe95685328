"""Workers that are processes of this machine: their variables, and channels to good and bad ones."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from levelfield.launchers import channel as channels
from levelfield.launchers.channel import ChannelClosed
from levelfield.launchers.host import HostLauncher, ProcessChannel
from levelfield.launchers.protocol import PADDING, LaunchSpec, gpu_environment, worker_environment
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.worker.messages import Load, Loaded, Probe, Probed, Task
from tests.commands import eventually
from tests.known import known
from tests.launchers.scripts import PATIENCE_S, READY, channel, gone, worker
from tests.plugged import metadata


@contextlib.contextmanager
def launched(folder: Path, image: str = "canary", variant: str = "cpu", **changes: Any) -> Iterator[Worker]:
    """Launch a worker on one CPU, unless told otherwise."""
    launcher = HostLauncher()
    cpus = (min(os.sched_getaffinity(0)),)
    made = launcher.prepare(image, variant, None, lambda _: None)
    spec = LaunchSpec(image, made, 1, cpus, memory_bytes=1 << 30, artifacts=folder)
    one = launcher.launch(msgspec.structs.replace(spec, **changes))
    one.await_ready(PATIENCE_S)
    yield one
    one.stop()


def variables(one: Worker) -> dict[str, str]:
    return psutil.Process(known(one.pid)).environ()


def test_a_user_of_the_host_launcher_keeps_the_packages_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`pip install --user` puts them beneath a home that a worker does not have."""
    own = tmp_path / "own"
    metadata(own, "only-mine", "1.5", {})
    monkeypatch.setattr("site.getusersitepackages", lambda: str(own))

    def seen() -> dict[str, str]:
        with launched(tmp_path) as worker:
            return worker.ask(Probe(), Probed, PATIENCE_S).distributions

    assert "only-mine" not in seen(), "this process does not have it either"
    monkeypatch.syspath_prepend(str(own))
    assert seen()["only-mine"] == "1.5"


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    from levelfield.launchers.host import start_process

    with pytest.raises(WorkerError, match="could not be started: No such file"):
        start_process([str(tmp_path / "python")], "the script", {}, tmp_path)


@pytest.mark.skipif(bool(HostLauncher().cannot_bind_memory()), reason="the kernel refuses to bind memory")
def test_the_memory_of_a_worker_is_bound_to_its_node(tmp_path: Path) -> None:
    with launched(tmp_path, memory_nodes=(0,)) as worker:
        worker.ask(Load(Task("canary", "canary", 1, 1)), Loaded, PATIENCE_S)
        maps = Path(f"/proc/{worker.pid}/numa_maps").read_text().splitlines()
    policies = {line.split()[1] for line in maps if "anon=" in line}
    assert policies - {"local"} == {"bind:0"}, "OpenBLAS asks for local memory for its own buffers"


def test_a_worker_has_its_padding_and_does_not_report_it(tmp_path: Path) -> None:
    """The record has its length: four thousand bytes of it in each launch would say no more."""
    with launched(tmp_path, padding_bytes=1234) as worker:
        probed, seen = worker.ask(Probe(), Probed, PATIENCE_S), variables(worker)
    assert seen[PADDING] == "x" * 1234
    assert PADDING not in probed.environment


def test_nothing_of_the_users_own_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OMP_WAIT_POLICY", "KMP_AFFINITY", "TF_ENABLE_ONEDNN_OPTS", "SECRET_TOKEN", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "1")
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    with launched(tmp_path, threads=len(cpus), cpus=cpus) as worker:
        probed, seen = worker.ask(Probe(), Probed, PATIENCE_S), variables(worker)
    assert "SECRET_TOKEN" not in seen
    assert {"OMP_WAIT_POLICY", "KMP_AFFINITY", "TF_ENABLE_ONEDNN_OPTS"}.isdisjoint(probed.environment)
    assert probed.environment["OMP_NUM_THREADS"] == str(len(cpus))
    assert probed.affinity == cpus


UUID = "GPU-00000000-0000-0000-0000-000000000000"


def test_a_process_sees_one_gpu_and_its_uuid_is_not_recorded(tmp_path: Path) -> None:
    assert gpu_environment("") == {}
    assert gpu_environment(UUID) == {"CUDA_VISIBLE_DEVICES": UUID}
    assert gpu_environment(UUID, "/cache") == {"CUDA_VISIBLE_DEVICES": UUID, "CUDA_CACHE_PATH": "/cache/cuda"}
    assert gpu_environment("", "/cache") == {}
    assert "CUDA_VISIBLE_DEVICES" not in worker_environment(threads=1, cpus=(0,))
    with launched(tmp_path, "torch", "cuda", gpu=UUID) as worker:
        reported = worker.ask(Probe(), Probed, PATIENCE_S).environment
    assert reported["CUDA_VISIBLE_DEVICES"] == "GPU-…"


def test_a_full_stderr_does_not_stop_a_process() -> None:
    talker = channel("import sys\nsys.stderr.write('x' * 1_000_000 + 'last')\nprint('done', flush=True)\ninput()")
    assert talker.receive(PATIENCE_S) == b"done"
    assert talker.stderr_tail().endswith("xlast")
    talker.end(PATIENCE_S)


def test_lines_said_before_dying_are_read_first() -> None:
    dying = channel("print('one'); print('two'); print('half', end='')")
    assert dying.receive(PATIENCE_S) == b"one"
    assert dying.receive(PATIENCE_S) == b"two"
    with pytest.raises(ChannelClosed):
        dying.receive(PATIENCE_S)
    dying.end(PATIENCE_S)


def test_a_process_that_will_not_end_is_killed_with_all_it_started() -> None:
    stubborn = channel(
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(1000)"
    )
    child = int(stubborn.receive(PATIENCE_S))
    stubborn.end(0.2)
    assert stubborn.ending().killed_here
    assert gone(known(stubborn.pid))
    assert eventually(lambda: gone(child))


def test_a_process_gets_the_environment_it_is_given_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    asked = ProcessChannel(
        [sys.executable, "-c", "import os; print(sorted(os.environ.items()), os.getcwd())"],
        environment={"A": "1", "LC_CTYPE": "C.UTF-8"},
        folder=tmp_path,
    )
    assert asked.receive(PATIENCE_S).decode() == f"[('A', '1'), ('LC_CTYPE', 'C.UTF-8')] {tmp_path}"
    asked.end(PATIENCE_S)


FLOODS = {
    "stderr": "import sys\nwhile True: sys.stderr.write('x' * 100_000)",
    "both, and it ignores signals": (
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: os.write(2, b'x' * 100_000)\n"
    ),
}


@pytest.mark.parametrize("script", FLOODS.values(), ids=FLOODS)
def test_output_without_end_suspends_no_time_limit(script: str) -> None:
    talker = worker("import sys\n" + READY + script)
    talker.await_ready(PATIENCE_S)
    before_bytes = psutil.Process().memory_info().rss
    with pytest.raises(WorkerError) as caught:
        talker.ask(Probe(), Probed, 1.0)
    assert caught.value.kind in {"timeout", "protocol"}
    assert psutil.Process().memory_info().rss - before_bytes < 300_000_000
    assert gone(talker.pid or 0)


def test_a_worker_that_does_not_read_its_requests_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "SEND_TIMEOUT_S", 0.5)
    deaf = channel("import time\ntime.sleep(1000)")
    with pytest.raises(ChannelClosed):
        deaf.send(b"x" * 10_000_000)
    deaf.end(0.0)


def test_a_line_that_was_not_asked_for_is_no_answer_to_the_next_request() -> None:
    hasty = worker("import sys\n" + READY + READY + "sys.stdin.read()")
    hasty.await_ready(PATIENCE_S)
    assert eventually(hasty.answered)
    with pytest.raises(WorkerError) as caught:
        hasty.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.kind == "protocol"
    assert "no request had asked for" in caught.value.message
