"""What the trial of other tools measured and found, as it is committed."""

from typing import ClassVar, Literal, TypeAlias

import msgspec

from studies.overhead.record import Cell
from studies.record import Measurement

Truth: TypeAlias = Literal["same", "slower"]
"""Of two arms: the same thing twice, or the second with a slowdown."""


class Decision(msgspec.Struct, frozen=True):
    """One answer of a tool on two arms."""

    tool: str
    truth: Truth
    answer: str
    """In the tool's own word."""
    different: bool
    """Whether it called them different."""
    found: bool
    """Whether it called the second slower."""
    ratio: float | None
    """Of the second arm's time to the first's, as the tool has it; None: it gave none."""
    seconds: float
    """From the start to the answer, launches and all."""
    supervisor_share: float | None
    """CPU time of the tool's supervisor, as a share of one core: of Levelfield while windows run, of pyperf while its
    workers live; None: not known."""


class Disk(msgspec.Struct, frozen=True):
    """What a tool needs on disk beside the framework."""

    tool: str
    what: str
    bytes_: int = msgspec.field(name="bytes")
    distributions: int = 0
    """Python distributions among it."""


class Trial(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "peers"

    settings: dict[str, str]
    """What everything in the record shares."""
    versions: dict[str, str]
    """Of tools and frameworks, by distribution."""
    cells: tuple[Cell, ...] = ()
    decisions: tuple[Decision, ...] = ()
    disk: tuple[Disk, ...] = ()
    failures: tuple[str, ...] = ()
    """What could not be measured, beside cells, which have their own."""
