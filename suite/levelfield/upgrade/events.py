"""What the journal of an upgrade holds."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from levelfield.images.base import Source
from levelfield.plan import Selection

FORMAT = 1
"""Version of the journal: a reader refuses a newer one."""

LAUNCHES = 10
"""Fewest launches of each arm in a run, where a budget has time for them. With five, one launch without a calm window
makes a run one of all windows: simulated, such runs scatter by 9 %, and calm ones of ten launches by 0.4 to 0.6 %."""

Side: TypeAlias = Literal["old", "new"]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]
_RunId: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")]
"""Of a folder under the reports folder, and of nothing else: a journal is not trusted."""


class Planned(msgspec.Struct, frozen=True):
    """What every run of a side measures."""

    results: tuple[str, ...]
    """Ids of arm and case, in their order."""
    cpus: tuple[int, ...]
    gpu: int | None = None


class How(msgspec.Struct, frozen=True):
    """How every run measures: the options of `bench` that are no part of the plan."""

    launcher: str | None = None
    base: Source = "debian"
    budget_seconds: float | None = None
    precision_target: float | None = None
    margin: float = 0.02
    identify: bool = False
    target: float | None = None


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """The upgrade as it was declared, on the old stack."""

    format: int
    name: str
    at: str
    """UTC, ISO 8601, as in every event."""
    tool_version: str
    tool_sha256: str
    selections: tuple[Selection, ...]
    """One; or those of the old and the new side, where image sets stand for the sides."""
    plans: tuple[Planned, ...]
    """Of each selection."""
    how: How
    boots: int
    """In each phase."""
    one_way: bool
    """There is no going back: old, new."""
    salt: str
    """What boot ids are hashed with: they identify a machine's boot, and are not kept themselves."""
    identity: dict[str, str]
    """Of the old software stack."""
    hardware: dict[str, str]
    """Of the machine."""

    @property
    def declared(self) -> bool:
        """Whether image sets stand for the sides, and a run for a boot."""
        return len(self.selections) > 1

    @property
    def replicate(self) -> str:
        """What a phase has so many of: `boot`, or `run` where a run stands for a boot."""
        return "run" if self.declared else "boot"


class MeasurementBegun(msgspec.Struct, frozen=True, tag="measuring"):
    """The run of a boot has its folder; nothing is measured yet."""

    at: str
    boot: _Text
    """Salted hash of the boot's id."""
    run: _RunId
    side: Side
    identity: dict[str, str]
    images: dict[str, str]
    """Launcher, name and variant of each image to its tag, which is a digest of what is in it."""


class MeasurementDone(msgspec.Struct, frozen=True, tag="measured"):
    """The run of a boot is complete, and counts."""

    at: str
    run: _RunId
    sha256: _Text
    """Of its record."""


Event: TypeAlias = Begun | MeasurementBegun | MeasurementDone
