"""A container's process as this host sees it, where the engine runs on this host."""

import contextlib
import os
import select
import signal
from pathlib import Path
from typing import Self


class LocalProcess:
    """A hold on one process, by a descriptor that no later process with the same id can inherit."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor: int | None = descriptor

    @classmethod
    def of_container(cls, pid: int, container: str) -> Self | None:
        """Return the first process of a container.

        None where it cannot be seen: an engine in a virtual machine or on another host has process ids of its own, and
        the same number may be somebody else here.

        Parameters
        ----------
        pid
            As the engine says.
        container
            The container's full id, which the kernel names in the process's control group.
        """
        try:
            descriptor = os.pidfd_open(pid)
        except (OSError, AttributeError):
            return None
        with contextlib.suppress(OSError):
            if container in Path(f"/proc/{pid}/cgroup").read_text():
                return cls(pid, descriptor)
        os.close(descriptor)
        return None

    def end(self, grace_s: float) -> None:
        """Wait for its exit; after `grace_s` kill it: a killed engine leaves its containers running."""
        if self._descriptor is None:
            return
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        if not poller.poll(grace_s * 1000):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        os.close(self._descriptor)
        self._descriptor = None
