"""Each framework's own engine of data-parallel training: how processes meet, and how their gradients are averaged.

Verified with two processes on a CPU. Of GPUs each process would have one, by the same calls; that is unverified, and a
plan does not ask for it.
"""

import msgspec

LOOPBACK = "127.0.0.1"
"""Where they meet: in a container they have no other network."""


class Replica(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which of the processes this one is, and where they meet."""

    rank: int
    """0 … `processes` - 1; 0 is the one that the supervisor speaks with."""
    processes: int
    ports: tuple[int, ...]
    """Of each process, of the loopback interface."""

    @property
    def authorities(self) -> tuple[str, ...]:
        """`ADDRESS:PORT` of each process, as engines take them."""
        return tuple(f"{LOOPBACK}:{port}" for port in self.ports)

    def share(self, items: int) -> slice:
        """Return which of a batch's items are this process's: shares are equal, so a mean of means is the mean.

        Raises ValueError: they cannot be divided equally.
        """
        if items % self.processes:
            raise ValueError(f"A batch of {items} cannot be divided equally among {self.processes} processes.")
        each = items // self.processes
        return slice(self.rank * each, (self.rank + 1) * each)
