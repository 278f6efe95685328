"""`levelfield doctor`: check everything that a run needs or that disturbs it, each with a fix."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import docker

from levelfield.errors import LevelfieldError
from levelfield.machine import cuda, quiet, topology
from levelfield.machine.control_groups import limits
from levelfield.machine.engine import ENGINE_ERRORS, Address, address, check_socket, connect, described, short
from levelfield.machine.findings import Finding, Needs, bad, gibibytes, ok, warn
from levelfield.machine.reading import ROOT, Facts, kibibytes, online, table
from levelfield.record import notices
from levelfield.record.cpu_lists import as_text
from levelfield.record.schema import Absent

_BYTES_OF_A_FILE = 50_000
"""Installed frameworks have 20 to 70 kB a file."""


def disks(needs: Needs) -> list[Finding]:
    """Check each disk that gets filled, once, for what all folders on it need."""
    first: dict[int, Path] = {}
    needed: dict[int, int] = {}
    for folder, count_bytes in needs.folders.items():
        place = _existing(folder.expanduser().absolute())
        device = place.stat().st_dev
        first.setdefault(device, place)
        needed[device] = needed.get(device, 0) + count_bytes
    return [disk(folder, needed[device]) for device, folder in first.items()]


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


def disk(folder: Path, needed_bytes: int) -> Finding:
    """Check that a disk has the space and the inodes that a run needs, and may be written."""
    topic = "disk"
    fix = "Free some: levelfield images clean removes images and caches; or set LEVELFIELD_CACHE to another disk."
    there = os.statvfs(folder)
    free_bytes = there.f_bavail * there.f_frsize
    message = f"{gibibytes(free_bytes)} free at {folder}; what is still to be made takes {gibibytes(needed_bytes)}"
    if there.f_flag & os.ST_RDONLY:
        return bad(topic, f"{folder} is on a disk that is mounted read-only.", "Set LEVELFIELD_CACHE to another disk.")
    if free_bytes < needed_bytes:
        return bad(topic, f"{message}.", fix)
    if there.f_files and there.f_favail < needed_bytes / _BYTES_OF_A_FILE:
        return bad(topic, f"{message}, and only {there.f_favail} inodes are free (`df -i`).", fix)
    return ok(topic, f"{message}.")


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


def nodes(root: Path = ROOT) -> list[Finding]:
    """Say which CPUs and how much memory each NUMA node has, where there are several."""
    found = topology.read(root).nodes
    if len(found) < 2:
        return []
    listed = "; ".join(map(topology.in_words, found))
    return [ok("NUMA", f"{len(found)} nodes ({listed}). Workers are pinned within one, unless --cpus says otherwise.")]


_START = "Start it: systemctl start docker, or `dockerd &` as root where there is no systemd."
_REGISTRY_TIMEOUT_SECONDS = 8


def container_engine(needs: Needs) -> tuple[list[Finding], Facts]:
    """Look for the engine, and whether it reaches its registry; say why there is none, each reason with its own fix.

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
        with contextlib.closing(connect(_REGISTRY_TIMEOUT_SECONDS)) as client:
            facts = described(client)
            found, reached = engine_found(facts, there), registry(client, needs.registry_image)
    except LevelfieldError as error:
        return [bad(topic, error.message, error.fix)], {}
    except ENGINE_ERRORS as error:
        fix = f"See its log (journalctl -u docker), and {there.named_by}; without it, virtual environments are used."
        message = f"What {there.named_by} names is no engine that answers: {short(error)}."
        return [warn(topic, message, fix)], {}
    return [found, reached], facts


def no_engine(error: OSError, there: Address, *, installed: bool) -> Finding:
    """Return why no engine answers."""
    topic, without = "container engine", "Without it the same locks run in virtual environments."
    if isinstance(error, PermissionError):
        message = f"One is running, but this user may not talk to it. {without}"
        return warn(topic, message, "Run `sudo usermod -aG docker $USER`, log out and in again; or run as root.")
    if isinstance(error, ConnectionRefusedError):
        return warn(topic, f"One was running and has stopped: its socket is there, nobody answers. {without}", _START)
    if there.named_by != "the default socket":
        message = f"None answers at {there.host}, which {there.named_by} names: {short(error)}. {without}"
        return warn(topic, message, "Start it, or name another: `docker context use default`, or DOCKER_HOST.")
    if installed:
        return warn(topic, f"One is installed, and not running. {without}", _START)
    message = f"None is installed (nothing at {there.host.removeprefix('unix://')}). {without}"
    return warn(topic, message, "Install one: apt-get install docker.io iptables (Debian), then start it.")


def engine_found(facts: Facts, there: Address) -> Finding:
    """Describe the engine that answers."""
    message = (
        f"{facts['engine']} {facts['version']} (API {facts['API version']}), by {facts['named by']}, storage driver "
        f"{facts['storage driver']}, control groups v{facts['cgroup version']}."
    )
    if there.is_local:
        return ok("container engine", message)
    fix = "Run levelfield on the engine's own machine."
    return warn("container engine", f"{message} It is on another machine, whose noise cannot be seen from here.", fix)


def registry(client: docker.DockerClient, image: str) -> Finding:
    """Ask the engine whether it reaches its image registry: only a base by digest needs it."""
    topic = "image registry"
    try:
        client.api.inspect_distribution(image)  # type: ignore[no-untyped-call]
    except ENGINE_ERRORS as error:
        cause = str(error).rstrip('")').rsplit(": ", 1)[-1][:120]  # of a long chain the end, where the reason is
        return ok(topic, f"The engine does not reach it ({cause}); bases made from Debian packages do without.")
    return ok(topic, "The engine reaches it: --base registry can be used.")


def wheels(needs: Needs) -> Finding:
    """Check whether pip reaches its index, unless every wheel is in the cache already."""
    topic = "wheels"
    if needs.wheels_missing_bytes == 0:
        return ok(topic, "Every wheel of the locks is in the cache; nothing has to be downloaded.")
    ahead = "" if needs.wheels_missing_bytes is None else f" {needs.wheels_missing_bytes / 1e6:.0f} MB are to come."
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [shutil.which("pip3") or "pip"]
    question = [*pip, "index", "versions", "msgspec", "--disable-pip-version-check", "--retries", "0", "--timeout", "5"]
    fix = "See `pip config list`: index-url, proxy and cert; behind a company's proxy set PIP_CERT and HTTPS_PROXY."
    try:
        answer = subprocess.run(question, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return bad(topic, "There is no pip here to fetch them with.", f"Run {Path(sys.executable).name} -m ensurepip.")
    except subprocess.TimeoutExpired:
        return bad(topic, f"pip got no answer from its index within 30 s.{ahead}", fix)
    if answer.returncode == 0:
        return ok(topic, f"pip reaches its index.{ahead}")
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
        f"Install it: apt-get install python{needs.python} python{needs.python}-venv, or use a container engine; or "
        "run what this interpreter has itself: --launcher host."
    )
    if engine:
        return ok(topic, f"{message}; containers bring their own.")
    return bad(topic, f"{message}, and no engine answers that could bring it.", fix)


def compiler(*, engine: bool) -> Finding:
    """Check for what torch-compile needs outside of containers: g++ and Python's headers."""
    topic = "C++ compiler"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    missing = [name for name, there in (("g++", shutil.which("g++")), ("Python.h", header.is_file())) if not there]
    if not missing:
        return ok(topic, "g++ and Python's headers are there.")
    message = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if engine:
        return ok(topic, f"{message} here; the image of torch brings both.")
    fix = "apt-get install g++ python3-dev"
    return warn(topic, f"{message}: in virtual environments `torch-compile` is absent.", fix)


def examine(needs: Needs | None = None, root: Path = ROOT) -> list[Finding]:
    """Return all findings, tools first, then room, then noise. Takes a few seconds and changes nothing.

    `needs`: what a run needs of the machine; None: what all frameworks together need.
    """
    needs = needs or Needs()
    found, engine = container_engine(needs)
    return [
        *found,
        wheels(needs),
        python_of_locks(needs, engine=bool(engine)),
        compiler(engine=bool(engine)),
        *cuda.driver_findings(),
        *cuda.toolkit_findings(engine, cuda.nvidia()),
        *disks(needs),
        memory(needs, root),
        cpus(root),
        *nodes(root),
        *quiet.now(),
        quiet.load(),
        *quiet.clock(root),
        *quiet.memory(root),
        quiet.layout(root),
        quiet.timer(root),
    ]
