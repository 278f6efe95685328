"""`levelfield doctor`: check everything that a run needs or that disturbs it, each with a fix."""

import contextlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.machine import quiet, topology
from levelfield.machine.control_groups import limits
from levelfield.machine.engine import ENGINE_ERRORS, Address, address, check_socket, connect, described, short
from levelfield.machine.findings import Finding, Needs, bad, disk, gibibytes, ok, warn
from levelfield.machine.gpu import nvidia
from levelfield.machine.reading import ROOT, Facts, kibibytes, online, table
from levelfield.record import warnings as notices
from levelfield.record.cpu_lists import as_text
from levelfield.record.schema import Absent


def disks(needs: Needs) -> list[Finding]:
    """Check each disk that gets filled, once, for what all folders on it need."""
    first: dict[int, Path] = {}
    needed: dict[int, int] = {}
    for folder, count_bytes in needs.folders.items():
        place = folder.expanduser().absolute()
        place = next(parent for parent in (place, *place.parents) if parent.exists())
        device = place.stat().st_dev
        first.setdefault(device, place)
        needed[device] = needed.get(device, 0) + count_bytes
    return [disk(folder, needed[device]) for device, folder in first.items()]


def memory(needs: Needs, root: Path = ROOT) -> Finding:
    """Compare the available memory, within this process's limit, with what the largest worker needs."""
    topic = "memory"
    available = kibibytes(table(root / "proc/meminfo"), "MemAvailable")
    if isinstance(available, Absent):
        return warn(topic, f"How much is available is not known: {available.reason}.", "Look for yourself.")
    limit = limits(root)["memory limit bytes"]
    if isinstance(limit, int) and limit < available:
        available = limit
    message = f"{gibibytes(available)} available"
    if available < needs.memory_bytes:
        fix = "Close other programs, or choose with --models and --backends."
        return warn(topic, f"{message}; the largest workers need {gibibytes(needs.memory_bytes)}.", fix)
    return ok(topic, f"{message}.")


def cpus(root: Path = ROOT) -> Finding:
    """Say how many CPUs there are, and what a mask, a control group's set or a quota takes away."""
    topic, present, arranged = "CPUs", online(root), topology.read(root)
    allowed = arranged.allowed
    for notice in notices.of_cpus(len(allowed), arranged.quota):  # of several, the one that distorts most
        return warn(topic, notice.message, notice.remedy)
    if len(allowed) < len(present):
        return ok(topic, f"{len(allowed)} of {len(present)} may be used ({as_text(allowed)}).")
    return ok(topic, f"{len(present)} ({as_text(present)}).")


_START = "Start it: systemctl start docker, or `dockerd &` as root where there is no systemd."
_TIMEOUT_SECONDS = 8


def container_engine() -> tuple[list[Finding], Facts]:
    """Look for the engine; say why there is none, each reason with its own fix.

    The facts are what it says about itself; empty where none answers.
    """
    topic = "container engine"
    try:
        there = address()
        check_socket(there)
    except LevelfieldError as error:
        return [bad(topic, error.message, error.fix)], {}
    except OSError as error:
        return [no_engine(error, there, installed=shutil.which("dockerd") is not None)], {}
    try:
        with contextlib.closing(connect(_TIMEOUT_SECONDS)) as client:
            facts = described(client)
    except LevelfieldError as error:
        return [bad(topic, error.message, error.fix)], {}
    except ENGINE_ERRORS as error:
        fix = f"See its log (journalctl -u docker), and {there.named_by}; without it, virtual environments are used."
        why = short(error)
        nobody = "Nothing listens" if "refused" in why else "No engine answers"
        return [warn(topic, f"{nobody} at {there.named_by} ({there.host}): {why}.", fix)], {}
    return [engine_found(facts, there)], facts


def no_engine(error: OSError, there: Address, *, installed: bool) -> Finding:
    topic, without = "container engine", "Without it the same locks run in virtual environments."
    if isinstance(error, PermissionError):
        message = f"One is running, but this user may not talk to it. {without}"
        return warn(topic, message, "Run `sudo usermod -aG docker $USER`, log out and in again; or run as root.")
    if there.named_by != "the default socket":
        message = f"Nothing listens at {there.named_by} ({there.host}): {short(error)}. {without}"
        return warn(topic, message, "Start it, or name another: `docker context use default`, or DOCKER_HOST.")
    if isinstance(error, ConnectionRefusedError):
        return warn(topic, f"One was running and has stopped: its socket is there, nobody answers. {without}", _START)
    if installed:
        return warn(topic, f"One is installed, and not running. {without}", _START)
    message = f"None is installed (nothing at {there.host.removeprefix('unix://')}). {without}"
    return warn(topic, message, "Install one: apt-get install docker.io iptables (Debian), then start it.")


def engine_found(facts: Facts, there: Address) -> Finding:
    message = (
        f"{facts['engine']} {facts['version']} (API {facts['API version']}), by {facts['named by']}, storage driver "
        f"{facts['storage driver']}, control groups v{facts['cgroup version']}."
    )
    if there.is_local:
        return ok("container engine", message)
    fix = "Run levelfield on the engine's own machine."
    return warn("container engine", f"{message} It is on another machine, whose noise cannot be seen from here.", fix)


def wheels(needs: Needs) -> Finding:
    """Check whether pip reaches its index, unless every wheel is in the cache already."""
    topic = "wheels"
    if needs.wheels_missing_bytes == 0:
        return ok(topic, "Every image is built or its wheels are in the cache: nothing has to be downloaded.")
    missing_bytes = needs.wheels_missing_bytes
    ahead = "" if missing_bytes is None else f" {missing_bytes / 2**20:.0f} MiB are to come, for all backends."
    pip = [sys.executable, "-P", "-m", "pip"] if importlib.util.find_spec("pip") else [shutil.which("pip3") or "pip"]
    question = [*pip, "index", "versions", "msgspec", "--disable-pip-version-check", "--retries", "0", "--timeout", "5"]
    fix = "See `pip config list`: index-url, proxy and cert; behind a company's proxy set PIP_CERT and HTTPS_PROXY."
    try:
        answer = subprocess.run(question, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return bad(topic, "There is no pip here to fetch them with.", f"Run {Path(sys.executable).name} -m ensurepip.")
    except subprocess.TimeoutExpired:
        return bad(topic, f"pip got no answer from its index within 30 s.{ahead}", fix)
    if answer.returncode == 0:
        return ok(topic, f"pip reaches its own index.{ahead}")
    return bad(topic, f"pip does not reach its index.{ahead}", fix)


def python_of_locks(needs: Needs, *, engine: bool) -> Finding:
    """Look for the Python that most locks are for, which virtual environments need."""
    topic = "Python"
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == needs.python:
        return ok(topic, f"This is Python {needs.python}, which most locks are for.")
    if shutil.which(f"python{needs.python}"):
        return ok(topic, f"Python {needs.python}, which most locks are for, is on the path.")
    message = f"Python {needs.python}, which most locks are for, is not here"
    fix = (
        f"Use a container engine; or install it (`uv python install {needs.python}` where the distribution has none); "
        "or run what this interpreter has itself: --launcher host."
    )
    if engine:
        return ok(topic, f"{message}; containers bring their own.")
    return bad(topic, f"{message}, and no engine answers that could bring it.", fix)


_IN_CONTAINERS = "GPU in containers"
KIND = "nvidia.com/gpu"
"""How CDI calls NVIDIA's GPUs."""
RUNTIME = "nvidia"
INSTALL = (
    "Install nvidia-container-toolkit, run `nvidia-ctk runtime configure --runtime=docker` (as root) and restart the "
    "engine; or use --launcher venv"
)
"""What to do where the toolkit is missing; the caller ends the sentence."""


def toolkit_findings(engine: Facts, here: Nvidia) -> list[Finding]:
    """Say whether the engine can give a GPU to containers; nothing where there is no engine, no driver or no GPU.

    It gives one by CDI (Container Device Interface), by NVIDIA's runtime, or by the toolkit's hook, which it looks for
    on its own path when it starts. The first two are in `docker info` (SystemInfo of the Docker Engine API: `Runtimes`
    and `DiscoveredDevices`); the hook is not, so that only a container that starts proves it: a run starts one before
    it fetches anything.
    """
    if not engine or here.driver is None or not here.gpus:
        return []
    if KIND in _words(engine, "CDI devices"):
        return [ok(_IN_CONTAINERS, f"The engine lists this machine's GPUs as CDI devices ({KIND}).")]
    if RUNTIME in _words(engine, "runtimes"):
        return [ok(_IN_CONTAINERS, "NVIDIA's runtime is among the engine's.")]
    message = (
        "There is a GPU, and the engine lists neither NVIDIA's runtime nor a CDI device of NVIDIA's: the container "
        "toolkit is most likely missing, and then no container gets the GPU."
    )
    return [warn(_IN_CONTAINERS, message, f"{INSTALL}.")]


def _words(engine: Facts, name: str) -> list[str]:
    value = engine.get(name)
    return value.split() if isinstance(value, str) else []


DRIVER_TOPIC = "NVIDIA driver"


def driver_findings() -> list[Finding]:
    """Check the driver and each GPU; a machine without a driver runs everything on its CPU."""
    found = nvidia()
    if found.driver is None:
        message = f"None to be used: {found.problem.rstrip('.')}. Everything runs on the CPU."
        return [warn(DRIVER_TOPIC, message, found.fix) if found.fix else ok(DRIVER_TOPIC, message)]
    cuda = f", made for CUDA up to {found.cuda}" if found.cuda else ""
    if found.hidden and not found.gpus:
        message = f"{found.driver}{cuda}; CUDA_VISIBLE_DEVICES hides every GPU of this machine."
        return [warn(DRIVER_TOPIC, message, "Unset it, or name the GPU that you may use.")]
    if not found.gpus:
        fix = "See what `nvidia-smi -L` lists, and whether this process may use it."
        return [warn(DRIVER_TOPIC, f"{found.driver}{cuda}; it shows no GPU.", fix)]
    titles = ", ".join(one.title for one in found.gpus)
    others = f" CUDA_VISIBLE_DEVICES hides {', '.join(map(str, found.hidden))}." if found.hidden else ""
    listed = [ok(DRIVER_TOPIC, f"{found.driver}{cuda}: {titles}.{others}")]
    kinds = {(one.name, one.capability) for one in found.gpus}
    if len(kinds) > 1:
        message = f"They are of {len(kinds)} kinds: a measurement takes one of them, and says which."
        listed.append(warn("GPUs", message, f"Choose it with --gpu: {found.gpus[0].index} is {found.gpus[0].name}."))
    return [*listed, *(finding for one in found.gpus for finding in _of_one(one))]


def _of_one(one: Gpu) -> list[Finding]:
    """Return what prevents several workers from taking turns on the whole of a GPU."""
    topic, listed = f"GPU {one.index}", list[Finding]()
    if one.mig:
        message = (
            f"{one.title} is cut into slices (MIG is on): only a slice can be used, and NVML counts for the whole."
        )
        fix = f"Turn MIG off for the time of the run: nvidia-smi -i {one.index} -mig 0 (as root)."
        listed.append(warn(topic, message, fix))
    if one.prohibited or one.one_process:
        what = "no process compute" if one.prohibited else "one process in at a time, so that backends take no turns"
        fix = f"Let several in: nvidia-smi -i {one.index} -c DEFAULT (as root)."
        listed.append(warn(topic, f"{one.title} lets {what} (compute mode).", fix))
    if one.persistent is False:
        message = (
            f"The driver lets {one.title} go whenever nobody uses it (persistence mode is off): the first process to "
            "come, such as a cold start, waits until it is ready again."
        )
        listed.append(warn(topic, message, f"Keep it ready: nvidia-smi -i {one.index} -pm 1 (as root)."))
    return listed


def examine(needs: Needs | None = None, root: Path = ROOT) -> list[Finding]:
    """Return all findings, tools first, then room, then noise. Takes a few seconds and changes nothing.

    `needs`: what a run needs of the machine; None: what all frameworks together need.
    """
    needs = needs or Needs()
    found, engine = container_engine()
    return [
        *found,
        wheels(needs),
        python_of_locks(needs, engine=bool(engine)),
        *driver_findings(),
        *toolkit_findings(engine, nvidia()),
        *disks(needs),
        memory(needs, root),
        cpus(root),
        *quiet.now(),
        *quiet.clock(root),
        *quiet.memory(root),
        quiet.timer(root),
    ]
