"""One of several processes that train one model together, each with its share of every batch."""

import msgspec

LOOPBACK = "127.0.0.1"
"""Where processes of one host meet: in a container of their own they have no other network."""


class Replica(msgspec.Struct, frozen=True):
    """Which of the processes this one is, and where they meet."""

    rank: int
    """0 … `processes` - 1; 0 is the one that the supervisor speaks with."""
    processes: int
    endpoints: tuple[tuple[str, int], ...]
    """IPv4 address and free port of each process."""

    @property
    def address(self) -> str:
        """Address of this process's host, or of its loopback interface."""
        return self.endpoints[self.rank][0]

    @property
    def authorities(self) -> tuple[str, ...]:
        """`ADDRESS:PORT` of each process, as engines take them."""
        return tuple(f"{address}:{port}" for address, port in self.endpoints)

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
