"""Real containers, on good days and on bad ones."""

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import docker
import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import engine as images
from levelfield.launchers.docker import LABEL, NOBODY, DockerLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.machine.engine import mark_of
from levelfield.record.schema import Image
from levelfield.worker.messages import Load, Loaded, Measure, Measured, Task, Verified, Verify
from tests.commands import eventually
from tests.engines import PrivateEngine, containers, none_left
from tests.launchers.scripts import PATIENCE_S, gone

pytestmark = pytest.mark.docker

CANARY = Load(Task(backend="canary", model="canary", batch=1, threads=1))
READ = "weights/one"
LONG = Measure(window_ns=1_000_000_000_000)


@pytest.fixture(scope="module")
def launcher(engine: docker.DockerClient) -> DockerLauncher:
    return DockerLauncher(engine)


@pytest.fixture(scope="module")
def image(launcher: DockerLauncher) -> Image:
    return launcher.prepare("canary", "cpu", None, lambda _: None)


@pytest.fixture
def spec(image: Image, tmp_path: Path) -> LaunchSpec:
    for name in (READ, "weights/other", "own/this/model.onnx", "own/another/network.py", "references/answer.npy"):
        (tmp_path / "artifacts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "artifacts" / name).write_bytes(b"content")
    tmp_path.chmod(0o755)
    return LaunchSpec(
        name=f"test {os.getpid()}", image=image, threads=1, cpus=(min(os.sched_getaffinity(0)),),
        memory_bytes=512 << 20, artifacts=tmp_path / "artifacts", reads=(READ, "own/this"), cache=tmp_path / "cache",
    )  # fmt: skip


@pytest.fixture
def worker(launcher: DockerLauncher, spec: LaunchSpec) -> Iterator[Worker]:
    one = launcher.launch(spec)
    one.await_ready(PATIENCE_S)
    yield one
    one.stop()


def test_a_worker_answers_and_leaves_nothing(
    engine: docker.DockerClient, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("levelfield.launchers.worker.GRACE_S", PATIENCE_S)
    assert isinstance(worker.ask(CANARY, Loaded, PATIENCE_S), Loaded)
    assert len(worker.ask(Verify(4), Verified, PATIENCE_S).output) == 4 * 513 * 4
    assert worker.ask(Measure(window_ns=1, min_calls=3), Measured, PATIENCE_S).window.samples_ns
    assert worker.start_ns > 0
    assert worker.pid is None or Path(f"/proc/{worker.pid}").exists()
    worker.stop()
    assert not worker._channel.ending().killed_here, "it ends when asked"
    assert none_left(engine)


def test_a_container_may_do_little(engine: docker.DockerClient, worker: Worker, spec: LaunchSpec) -> None:
    (container,) = containers(engine)
    container.reload()
    host, config = container.attrs["HostConfig"], container.attrs["Config"]
    assert (host["NetworkMode"], host["CapDrop"]) == ("none", ["ALL"])
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert host["ReadonlyRootfs"]
    assert host["CpusetCpus"] == ",".join(map(str, spec.cpus))
    assert host["Memory"] == host["MemorySwap"] == spec.memory_bytes
    assert 0 < host["PidsLimit"] <= 4096
    assert host["AutoRemove"]
    assert (host["IpcMode"], host["LogConfig"]["Type"]) == ("private", "none")
    assert config["StdinOnce"]
    uid = os.getuid() or NOBODY
    assert config["User"].startswith(f"{uid}:")
    assert {mount["Destination"]: mount["RW"] for mount in container.attrs["Mounts"]} == {
        f"/artifacts/{READ}": False,
        "/artifacts/own/this": False,
        "/cache": True,
    }


def test_it_sees_nothing_of_the_artifacts_but_what_it_reads(
    engine: docker.DockerClient, worker: Worker, spec: LaunchSpec
) -> None:
    assert worker.alive
    (container,) = containers(engine)
    (spec.artifacts / "own" / "this" / "later").write_bytes(b"content")
    code, output = container.exec_run(["find", "/artifacts", "-type", "f"])
    assert (code, sorted(output.decode().split())) == (
        0,
        ["/artifacts/own/this/later", "/artifacts/own/this/model.onnx", f"/artifacts/{READ}"],
    )


def run_inside(engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec, script: str) -> Worker:
    """Launch a worker whose container runs `script` before it serves: an image with another entry point."""
    tag = f"levelfield-test/{os.getpid()}:script"
    # Until it has its tag, a build elsewhere may take it for what a build left behind, unless its maker is alive.
    mark = f'LABEL {images.BUILD}="{mark_of(os.getpid())}/script"'
    container = engine.api.create_container(
        spec.image.tag, entrypoint=["/opt/levelfield/env/bin/python", "-P", "-c", f"{script}\n{SERVE}"]
    )["Id"]
    try:
        engine.api.commit(container, repository=tag.partition(":")[0], tag="script", changes=mark)
    finally:
        engine.api.remove_container(container)
    try:
        return launcher.launch(
            msgspec.structs.replace(spec, image=msgspec.structs.replace(spec.image, tag=tag, image_id=""))
        )
    finally:
        engine.api.remove_image(tag, force=True)


SERVE = "from levelfield.worker.__main__ import main\nmain()"


def test_out_of_memory_is_called_so(engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec) -> None:
    one = launcher.launch(msgspec.structs.replace(spec, memory_bytes=40 << 20))
    one.await_ready(PATIENCE_S)
    with pytest.raises(WorkerError, match="ran out of its memory limit during load") as caught:
        one.ask(CANARY, Loaded, PATIENCE_S)
    assert caught.value.kind == "out-of-memory"
    assert none_left(engine)


def test_sigkill_while_it_measures(engine: docker.DockerClient, worker: Worker) -> None:
    worker.ask(CANARY, Loaded, PATIENCE_S)
    worker.post(LONG)
    (container,) = containers(engine)
    if worker.pid is not None and os.getuid() == 0:
        os.kill(worker.pid, signal.SIGKILL)
    else:
        container.kill()
    with pytest.raises(WorkerError, match=r"was killed \(SIGKILL\) during measure") as caught:
        worker.collect(Measured, PATIENCE_S)
    assert (caught.value.kind, caught.value.gone, worker.alive) == ("crashed", True, False)
    assert none_left(engine)


SUPERVISOR = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    import msgspec
    from levelfield.launchers.docker import DockerLauncher, connect
    from levelfield.launchers.protocol import LaunchSpec
    from levelfield.worker.messages import Load, Loaded, Measure, Task
    launcher = DockerLauncher(connect())
    spec = msgspec.json.decode(sys.argv[1], type=LaunchSpec, dec_hook=lambda kind, value: kind(value))
    workers = [launcher.launch(spec) for _ in range(2)]
    for worker in workers:
        worker.await_ready(60)
        worker.ask(Load(Task("canary", "canary", 1, 1)), Loaded, 60)
    workers[0].post(Measure(window_ns=1_000_000_000_000))
    print("up", flush=True)
    time.sleep(1000)
    """
)


def test_workers_end_with_a_killed_supervisor(engine: docker.DockerClient, spec: LaunchSpec) -> None:
    """One worker idles on its stdin, the other is in the middle of an endless window."""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, msgspec.json.encode(spec, enc_hook=str).decode()], stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None
    assert supervisor.stdout.readline() == b"up\n"
    assert len(containers(engine, supervisor.pid)) == 2
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    assert none_left(engine, supervisor.pid)


@pytest.mark.alone  # every command sweeps as it begins
def test_a_sweep_takes_what_the_dead_left_and_nothing_else(
    engine: docker.DockerClient, launcher: DockerLauncher, worker: Worker, image: Image
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    mark = mark_of(gone.pid)
    gone.communicate()
    process, started, boot, namespace = mark.split(":")
    dead = engine.containers.create(image.tag, labels={LABEL: mark})
    unknown = [
        engine.containers.create(image.tag, labels=labels)
        for labels in (
            {},
            {LABEL: "1:1"},
            {LABEL: f"{process}:{started}:{uuid.uuid4()}:{namespace}"},  # on another host, or before a reboot
            {LABEL: f"{process}:{started}:{boot}:1"},  # in another container that shares the engine's socket
        )
    ]
    try:
        assert launcher.sweep() >= 1
        left = {each.id for each in engine.containers.list(all=True, ignore_removed=True)}
        assert dead.id not in left
        assert {each.id for each in unknown} <= left
        assert isinstance(worker.ask(CANARY, Loaded, PATIENCE_S), Loaded)
    finally:
        for each in unknown:
            each.remove(force=True)


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_an_engine_that_is_killed_leaves_no_worker_running(
    engine: docker.DockerClient, spec: LaunchSpec, private_engine: PrivateEngine
) -> None:
    """Containers outlive their engine, and nobody closes their stdin then."""
    private_engine.load(engine, spec.image.tag)
    with contextlib.closing(docker.DockerClient(private_engine.host)) as client:
        launcher = DockerLauncher(client)
        idle, busy = launcher.launch(spec), launcher.launch(spec)
        for one in (idle, busy):
            one.await_ready(PATIENCE_S)
        busy.ask(CANARY, Loaded, PATIENCE_S)
        busy.post(LONG)
        pids = [one.pid for one in (idle, busy)]
        private_engine.kill()
        with pytest.raises(LevelfieldError, match=r"The container engine stopped answering .* is kept"):
            busy.collect(Measured, PATIENCE_S)
        idle.stop()
        for pid in pids:
            assert pid is not None
            assert eventually(partial(gone, pid))
        private_engine.restart()
        launcher.sweep()
        assert none_left(client)
    gc.collect()  # the SDK leaves a socket open where it could not connect it


UUID = "GPU-00000000-0000-0000-0000-000000000000"
TOOLKIT = "The container engine gives no GPU to containers: NVIDIA's container toolkit is missing"
without_toolkit = pytest.mark.skipif(
    shutil.which("nvidia-container-runtime-hook") is not None or Path("/dev/nvidiactl").exists(),
    reason="NVIDIA's container toolkit, or a GPU, is here.",
)


@without_toolkit
def test_a_missing_toolkit_is_said_before_anything_large_is_fetched(
    engine: docker.DockerClient, launcher: DockerLauncher, image: Image
) -> None:
    with pytest.raises(LevelfieldError) as caught:
        launcher.check_gpu(image, UUID)
    assert caught.value.message.startswith(TOOLKIT)
    assert "nvidia-ctk runtime configure" in caught.value.fix
    assert none_left(engine)
