"""A hostile worker in a real container: whatever it does costs its own case, and nothing of it stays."""

import json
import os

import docker
import msgspec
import pytest

from levelfield.launchers.docker import NOBODY, DockerLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.worker import WorkerError
from levelfield.worker.messages import Probe, Probed
from tests.engines import none_left
from tests.known import known
from tests.launchers.scripts import NEXT, PATIENCE_S, READY
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


ESCAPES = """
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
tried = {}
def called(what, name, *given):
    ctypes.set_errno(0)
    tried[what] = "works" if getattr(libc, name)(*given) != -1 else os.strerror(ctypes.get_errno())
def attempt(what, function, *given):
    try:
        function(*given)
        tried[what] = "works"
    except OSError as error:
        tried[what] = error.strerror
NUMBERS = {"add_key": 248, "keyctl": 250, "bpf": 321, "userfaultfd": 323, "kexec_load": 246, "swapon": 167,
    "open_by_handle_at": 304, "perf_event_open": 298, "init_module": 175, "pivot_root": 155, "process_vm_readv": 310,
    "process_vm_writev": 311, "setns": 308, "quotactl": 179, "syslog": 103, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "clone3": 435, "mount_setattr": 442}
for name, number in NUMBERS.items():
    called(name, "syscall", number, *(0,) * 6)
called("mount", "mount", b"none", b"/tmp", b"tmpfs", 0, None)
called("umount", "umount2", b"/proc", 2)
called("a user namespace", "unshare", 0x10000000)
called("a mount namespace", "unshare", 0x20000)
called("its memory", "ptrace", 16, 1, None, None)
called("the clock", "syscall", 227, 0, (ctypes.c_long * 2)(1, 0))
called("priority", "setpriority", 0, 0, -20)
attempt("root", os.setuid, 0)
attempt("chroot", os.chroot, "/")
attempt("a device", os.mknod, "/tmp/disk", 0o60600, os.makedev(8, 0))
attempt("the host's name", socket.sethostname, "x")
attempt("other processes", os.kill, -1, 0)
for path in ("/proc/kcore", "/dev/mem", "/dev/sda", "/var/run/docker.sock", os.path.expanduser("~/.ssh")):
    attempt(path, os.open, path, os.O_RDONLY)
for path in ("/here", "/artifacts/here", "/opt/levelfield/env/here", "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/release_agent", "/sys/kernel/mm/ksm/run", "/sys/power/state"):
    attempt(path, os.open, path, os.O_WRONLY)
attempt("packets", socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
attempt("network", socket.create_connection, ("192.0.2.1", 80), 5)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
seen = {"tried": tried, "processes": [name for name in os.listdir("/proc") if name.isdigit()],
    "interfaces": [name for _, name in socket.if_nameindex()], "cache": os.listdir("/cache") + os.listdir("/dev/shm"),
    "secrets": [name for name in os.environ if "SECRET" in name],
    **{name: status[name].strip() for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapPrm", "CapBnd", "CapAmb")}}
for path in ("/cache/here", "/tmp/here"):
    open(path, "w").close()
print(json.dumps({**seen, "user": os.getuid()}), file=sys.stderr, flush=True)
sys.exit(9)
"""
REFUSED = {
    "Operation not permitted", "Permission denied", "Read-only file system", "No such file or directory",
    "No such process", "Network is unreachable", "Function not implemented",
}  # fmt: skip


def test_one_that_tries_to_escape(
    engine: docker.DockerClient, launcher: DockerLauncher, spec: LaunchSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another worker, whose processes and cache it does not see."""
    monkeypatch.setenv("MY_SECRET", "hunter2")
    theirs = known(spec.cache).with_name("cache-of-another")
    other = launcher.launch(msgspec.structs.replace(spec, cache=theirs))
    try:
        other.await_ready(PATIENCE_S)
        (theirs / "secret").touch()
        one = run_inside(engine, launcher, spec, ESCAPES)
        with pytest.raises(WorkerError, match="exited with code 9") as caught:
            one.await_ready(PATIENCE_S)
    finally:
        other.stop()
    found = json.loads(next(line for line in caught.value.detail.splitlines() if line.startswith("{")))
    assert {what: said for what, said in found["tried"].items() if said not in REFUSED} == {}
    assert len(found["tried"]) > 40
    assert found["NoNewPrivs"] == "1"
    assert found["Seccomp"] == "2", "a filter of system calls"
    assert {int(found[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {0}
    assert len(found["processes"]) == 1, "its own"
    assert found["interfaces"] == ["lo"]
    assert found["user"] == (os.getuid() or NOBODY)
    assert found["cache"] == found["secrets"] == []
    assert none_left(engine)


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
    with pytest.raises(
        WorkerError, match=r"wrote more than 0\.2 GiB, or [\d,]+ files, to its compile cache during probe"
    ) as caught:
        one.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.gone
    assert list(known(spec.cache).iterdir()) == [], "the next launch finds its disk free"
    assert none_left(engine)
