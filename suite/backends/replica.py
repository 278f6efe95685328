"""One of several processes that train one model together, each with its share of every batch."""

import msgspec

HOST = "127.0.0.1"
"""All processes are on one host, and in a container of their own they have no other network."""


class Replica(msgspec.Struct, frozen=True):
    """Which of the processes this one is, and where they meet."""

    rank: int
    """0 … `processes` - 1; 0 is the one that the supervisor speaks with."""
    processes: int
    ports: tuple[int, ...]
    """Free ports of the loopback interface, one for each process."""

    def share(self, items: int) -> slice:
        """Return which of a batch's items are this process's: shares are equal, so a mean of means is the mean.

        Raises
        ------
        ValueError
            They cannot be divided equally.
        """
        if items % self.processes:
            raise ValueError(f"A batch of {items} cannot be divided equally among {self.processes} processes.")
        each = items // self.processes
        return slice(self.rank * each, (self.rank + 1) * each)
