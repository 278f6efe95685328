"""A worker's failures, each told by its own kind in one sentence, with nothing left behind."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from levelfield.launchers import channel as channels
from levelfield.launchers.worker import Worker, WorkerError, wait_for_answers
from levelfield.record.schema import FailureKind
from levelfield.worker.messages import Measure, Measured, Probe, Probed
from tests.commands import eventually
from tests.known import known
from tests.launchers.scripts import NEXT, PATIENCE_S, READY, gone, worker

MEASURE = Measure(window_ns=1)


def fails(one: Worker, kind: FailureKind, says: str, *, timeout_s: float = PATIENCE_S) -> WorkerError:
    """Bring a worker up, ask it, and check how that fails: the process must be gone afterwards."""
    with pytest.raises(WorkerError, match=says) as caught:  # noqa: PT012  (it may fail at either)
        one.await_ready(PATIENCE_S)
        one.ask_asleep(MEASURE, Measured, timeout_s)
    error = caught.value
    assert error.kind == kind
    assert error.message.startswith("the script")
    assert "\n" not in error.message
    assert error.gone
    assert not one.alive
    assert gone(known(one.pid))
    return error


FAILED = """print('{"type":"failed","kind":"error","message":"x"}', flush=True)\ninput()"""
RAW = "sys.stdout.buffer.write({}); sys.stdout.flush(); input()"
FAILURES: list[tuple[str, FailureKind, str]] = [
    (READY + NEXT + "raise RuntimeError('no such kernel')", "crashed", "exited with code 1 during measure"),
    (READY + NEXT + "import os\nos.kill(os.getpid(), 11)", "crashed", "exited with code -11"),
    ("raise SystemExit(3)", "crashed", "exited with code 3 during start"),
    (READY + NEXT + "print('oneDNN is on.', flush=True)\ninput()", "protocol", "not a reply during measure: 'oneDNN"),
    (READY + NEXT + 'print(\'{"type":"failed","x":\' + \'[\' * 200_000, flush=True)', "protocol", "not a reply"),
    (READY + NEXT + RAW.format(r"""b'{"type":"failed","message":"\xff"}\n'"""), "protocol", "not a reply"),
    (READY + NEXT + READY + "input()", "protocol", "answered measure with Ready"),
    (FAILED, "protocol", "began"),
    (READY + NEXT + FAILED.replace('"kind":"error"', '"kind":"none"'), "protocol", "a kind of failure that there is"),
    (
        READY + NEXT + """print('{"type":"trained","losses":[' + "1," * 8_000_001, flush=True)""",
        "protocol",
        "more values",
    ),
    (READY.replace('"protocol":2', '"protocol":1') + "input()", "protocol", "speaks protocol 1, this .* 2"),
]


@pytest.mark.parametrize(("script", "kind", "says"), FAILURES)
def test_a_failure_has_its_kind_and_one_sentence(script: str, kind: FailureKind, says: str) -> None:
    error = fails(worker(script), kind, says)
    assert len(error.message) < 300
    assert ("no such kernel" in error.detail) == ("no such kernel" in script)


def test_a_hang_that_ignores_every_request_to_stop() -> None:
    script = "import signal, time\nfor number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
    fails(worker(script + READY + NEXT + "time.sleep(1000)"), "timeout", "did not finish", timeout_s=1.0)


def test_the_first_of_several_to_answer() -> None:
    slow, quick, dead = (
        worker(READY + NEXT + "import time\ntime.sleep(1000)"),
        worker(READY + NEXT + "print('{', end='', flush=True)\nimport time\ntime.sleep(0.2)\nprint('}', flush=True)"),
        worker(READY + NEXT + "import sys\nprint('a word on stderr', file=sys.stderr)\nraise SystemExit(4)"),
    )
    everyone = [slow, quick, dead]
    for one in everyone:
        one.await_ready(PATIENCE_S)
    assert wait_for_answers(everyone, time.monotonic() - 1) == []
    for one in everyone:
        one.post(MEASURE)
    pending = list(everyone)
    while len(pending) > 1:
        for one in wait_for_answers(pending, time.monotonic() + PATIENCE_S):
            pending.remove(one)
    assert pending == [slow]
    assert wait_for_answers(pending, time.monotonic() + 0.1) == []
    with pytest.raises(WorkerError, match="exited with code 4 during measure"):
        dead.collect(Measured, 0.0)
    with pytest.raises(WorkerError, match="not a reply during measure"):
        quick.collect(Measured, 0.0)
    overdue = slow.overdue(7.0)
    assert overdue.kind == "timeout"
    assert "did not finish measure within 7 s" in overdue.message
    assert gone(known(slow.pid))


def test_an_endless_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "MAX_LINE_BYTES", 1_000_000)
    fails(worker(READY + NEXT + "while True: sys.stdout.write('x' * 100_000)"), "protocol", "an endless line")


def test_closed_output_without_an_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    from levelfield.launchers import worker as workers

    monkeypatch.setattr(workers, "GRACE_S", 0.5)
    fails(
        worker(READY + NEXT + "import os, time\nsys.stdout.flush(); os.close(1); time.sleep(1000)"),
        "crashed",
        "closed its output during measure, did not exit, and was killed",
    )


def test_its_own_failure_leaves_it_alive() -> None:
    failed = '{"type":"failed","kind":"out-of-memory","message":"It was too large.","detail":"Traceback"}'
    one = worker(READY + NEXT + f"print('{failed}', flush=True)\n" + NEXT + f"print('{failed}', flush=True)\ninput()")
    one.await_ready(PATIENCE_S)
    for _ in range(2):
        with pytest.raises(WorkerError, match="It was too large") as caught:
            one.ask(Probe(), Probed, PATIENCE_S)
        assert (caught.value.kind, caught.value.detail, caught.value.gone) == ("out-of-memory", "Traceback", False)
    assert one.alive
    one.stop()
    one.stop()
    assert gone(known(one.pid))


def test_its_folder_goes_with_it() -> None:
    one = worker("import os\n" + READY + NEXT + "print(os.environ['HOME'], file=sys.stderr, flush=True)\nos._exit(4)")
    home = Path(fails(one, "crashed", "exited with code 4").detail.strip())
    assert home.name == "home"
    assert home.parent.name.startswith("levelfield-run-")
    assert not home.parent.exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl(2) is Linux's own")
def test_a_worker_dies_with_a_killed_supervisor() -> None:
    """The worker is busy compiling, far from reading its stdin, when its supervisor is killed outright."""
    supervisor = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                """
                import time
                from pathlib import Path
                from levelfield.launchers.host import HostLauncher
                from levelfield.launchers.protocol import LaunchSpec
                from levelfield.worker.messages import Load, Measure, Task
                launcher = HostLauncher()
                image = launcher.prepare("canary", "cpu", None, lambda text: None)
                spec = LaunchSpec(
                    name="canary", image=image, threads=1, cpus=(0,), memory_bytes=1 << 30, artifacts=Path("/tmp")
                )
                worker = launcher.launch(spec)
                worker.await_ready(60)
                worker.post(Load(Task("canary", "canary", 1, 1)))
                worker.post(Measure(window_ns=1_000_000_000_000))
                print(worker.pid, flush=True)
                time.sleep(1000)
                """
            ),
        ],
        stdout=subprocess.PIPE,
    )
    assert supervisor.stdout is not None
    pid = int(supervisor.stdout.readline())
    time.sleep(2.0)  # well into its window
    assert not gone(pid)
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    assert eventually(lambda: gone(pid))
