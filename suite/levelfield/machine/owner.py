"""Which supervisor started a container: a mark that can be checked only under the same kernel and process-id namespace.

A container engine may serve several supervisors that cannot see one another: CI jobs in containers that share a socket,
or a `DOCKER_HOST` on another machine. A process id and a start time mean nothing there. So the mark also names the boot
and the namespace, and a container is swept only by a supervisor that shares both: that one can tell that the other is
dead.
"""

from pathlib import Path

_SEPARATOR = ":"
_ENDED = frozenset("ZXx")
"""States of a process that runs no more (proc(5), field 3)."""


def mark_of(pid: int) -> str:
    """Return the mark of a process of this namespace: process id, start time, boot and namespace."""
    return _SEPARATOR.join((str(pid), _start_time(pid), *_surroundings()))


def is_dead(mark: str) -> bool:
    """Return whether a mark is of a supervisor that can be shown to be dead."""
    pid, _, rest = mark.partition(_SEPARATOR)
    started, _, surroundings = rest.partition(_SEPARATOR)
    if not (pid.isdigit() and started.isdigit()) or surroundings != _SEPARATOR.join(_surroundings()):
        return False
    return _start_time(int(pid)) != started


def _surroundings() -> tuple[str, str]:
    """Return the boot and the process-id namespace of this process; proc(5), pid_namespaces(7)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return "unknown", "unknown"
    return boot, namespace


def _start_time(pid: int) -> str:
    """Field 22 of `/proc/PID/stat` (proc(5)): tells a process from a later one with the same id.

    Empty for a process that is not there, and for a zombie: one that has ended, and that its parent has not reaped.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state in _ENDED else fields[18]
    except (OSError, IndexError, ValueError):
        return ""
