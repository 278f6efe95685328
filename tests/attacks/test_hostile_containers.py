"""A hostile worker in a real container: whatever it does costs its own case, and nothing of it stays."""

import json

import docker
import msgspec
import pytest

from levelfield.launchers.docker import DockerLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.worker import WorkerError
from levelfield.worker.messages import Measure, Measured, Probe, Probed
from tests.engines import none_left
from tests.launchers.scripts import NEXT, PATIENCE_S, READY
from tests.launchers.test_credible import WINDOW
from tests.launchers.test_docker import image, launcher, run_inside, spec

__all__ = ["image", "launcher", "spec"]  # fixtures
pytestmark = pytest.mark.docker

FORKS = """
import os, sys, time
children = 0
try:
    while True:
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        children += 1
except OSError as error:
    print(f"{children} children, then: {error.strerror}", file=sys.stderr, flush=True)
    sys.exit(9)
"""
FILLS = """
import sys
try:
    with open("/tmp/ballast", "wb") as file:
        while True:
            file.write(bytes(1 << 20))
except OSError as error:
    print(f"then: {error.strerror}", file=sys.stderr, flush=True)
    sys.exit(9)
"""


def test_one_that_forks_without_end(engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec) -> None:
    one = run_inside(engine, launcher, spec, READY + NEXT + FORKS)
    one.await_ready(PATIENCE_S)
    with pytest.raises(WorkerError) as caught:
        one.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.kind in ("crashed", "out-of-memory"), "of processes or of their memory there are no more"
    if caught.value.kind == "crashed":
        assert "children, then: Resource temporarily unavailable" in caught.value.detail
    assert none_left(engine)


def test_one_that_fills_its_disk(engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec) -> None:
    """What it writes to /tmp counts as its memory."""
    one = run_inside(engine, launcher, spec, READY + NEXT + FILLS)
    one.await_ready(PATIENCE_S)
    with pytest.raises(WorkerError) as caught:
        one.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.kind in ("out-of-memory", "crashed")
    assert caught.value.kind == "out-of-memory" or "then: No space left on device" in caught.value.detail
    assert none_left(engine)


def test_one_that_fills_the_disk_of_this_machine(
    engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec
) -> None:
    """Its compile cache is a folder of the host, which no memory limit bounds."""
    spec = msgspec.structs.replace(spec, disk_bytes=256 << 20)
    one = run_inside(engine, launcher, spec, READY + NEXT + FILLS.replace("/tmp", "/cache"))
    one.await_ready(PATIENCE_S)
    with pytest.raises(WorkerError, match=r"wrote more than 0\.2 GiB to its compile cache during probe") as caught:
        one.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.gone
    assert spec.cache is not None
    assert list(spec.cache.iterdir()) == [], "the next launch finds its disk free"
    assert none_left(engine)


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"samples_ns": ()}, "a window without a call"),
        ({"window_ns": 10**15}, "longer than the time since it was asked for"),
        ({"samples_ns": (-5,)}, "a number that nothing counts"),
    ],
)
def test_one_that_lies(
    engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec, lie: dict[str, object], says: str
) -> None:
    line = json.dumps(msgspec.json.encode(msgspec.structs.replace(WINDOW, **lie)).decode())
    one = run_inside(engine, launcher, spec, f"{READY}{NEXT}print({line}, flush=True)\ninput()")
    one.await_ready(PATIENCE_S)
    with pytest.raises(WorkerError, match=says) as caught:
        one.ask(Measure(window_ns=1), Measured, PATIENCE_S)
    assert (caught.value.kind, caught.value.gone) == ("protocol", True)
    assert none_left(engine)


def test_one_that_reads_nothing_and_says_nothing(
    engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec
) -> None:
    deaf = "import signal, time\nfor number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
    one = run_inside(engine, launcher, spec, f"{deaf}{READY}time.sleep(1000)")
    one.await_ready(PATIENCE_S)
    with pytest.raises(WorkerError, match="did not finish probe within 1 s") as caught:
        one.ask(Probe(), Probed, 1.0)
    assert caught.value.kind == "timeout"
    assert none_left(engine)
