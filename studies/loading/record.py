"""What the loading trial measured and found, as it is committed."""

from typing import ClassVar

import msgspec

from studies.estimates import Estimate
from studies.record import Measurement

LIBRARY = "from_pretrained"
"""The library's own loader, where an arm stands."""


class Load(msgspec.Struct, frozen=True, array_like=True):
    """One process that loaded the network, as one row."""

    round: int
    arm: str
    check_ns: int
    """Opening the weights and computing their digest; 0 of the library."""
    load_ns: int
    """From the weights to a network that can be called."""
    first_call_ns: int


class Cell(msgspec.Struct, frozen=True):
    """One network."""

    model: str
    family: str
    parameters: int
    keep_ns: int
    """Reading the folder and copying its weights into the cache, once, before all loads."""
    loads: tuple[Load, ...]
    """In the order of the processes; those of round 0 warm the page cache and are not counted."""


class Finding(msgspec.Struct, frozen=True):
    """One arm beside the library's loader, round by round."""

    family: str
    arm: str
    rounds: int
    library_ns: float
    """The library's load, geometric mean."""
    load: Estimate
    """The arm's load over the library's."""
    checked: Estimate
    """The same with the digest of the weights, which the library does not compute."""
    called: Estimate
    """Load, digest and first call over the library's load and first call."""


class Trial(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "loading"

    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()
