"""The journal of a fleet's run, in `fleets/NAME/` under the reports folder, beside the runs of its nodes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from levelfield.images.base import Source
from levelfield.plan import Selection
from levelfield.record.append_only import Beginning, Lost, NamedJournals
from levelfield_fleet.run.messages import Name

FORMAT = 2
"""Version of the journal: a reader refuses a newer one."""
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]


class Begun(Beginning, frozen=True, forbid_unknown_fields=True, tag="begun"):
    format: int
    at: str
    """UTC, ISO 8601, as in every event."""
    tool_version: str
    tool_sha256: str
    selection: Selection
    words: tuple[str, ...]
    """Of `levelfield bench` on every node."""
    launcher: str
    base: Source
    identify: bool
    limit_s: float
    """Time that a node may take."""
    fleet: Name
    """Drawn: names the folder of this fleet on the nodes."""
    seed: int
    """Of the first run of the first node; every further run has the next one."""
    repeat: Annotated[int, msgspec.Meta(ge=1)] = 1
    """How many runs every node makes."""


class Resumed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="resumed"):
    """Nodes without a run get their tries anew."""

    at: str


class NodeSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="seen"):
    """A node of the cluster, for the first time or under another id."""

    at: str
    node: Name
    """`node-01` …, or its own name where the user asked for that."""
    ray_id: _Text
    machine: _Text = ""
    """Keyed digest of the name that Ray has for it, by which it is known when Ray is started again there; empty:
    several nodes have that name."""


class AttemptBegun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="attempt"):
    at: str
    node: Name


class AttemptFailed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="failed"):
    at: str
    node: Name
    reason: _Text
    final: bool = False
    """Another try would end the same."""


class NodeDone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="done"):
    """The run of a node is in the fleet's folder."""

    at: str
    node: Name
    run: Name
    sha256: _Text
    """Of its record."""


Event: TypeAlias = Begun | Resumed | NodeSeen | AttemptBegun | AttemptFailed | NodeDone
MAX_BYTES = 64 << 20
"""Longest journal that is read: a node has some hundred bytes for each attempt."""
_ALL: NamedJournals[Event] = NamedJournals(
    "fleet",
    "a",
    "fleets",
    FORMAT,
    MAX_BYTES,
    msgspec.json.Decoder(Event),
    wait="Wait until that has ended, or end it.",
    go_on="add --resume {name}",
)
folder, open_journal, check_own = _ALL.folder, _ALL.open, _ALL.check_own


def create(begun: Begun, reports: Path) -> None:
    """Make the folder of a fleet, and write the first line of its journal.

    Raises LevelfieldError: there is one of that name, or the folder cannot be written.
    """
    _ALL.create(begun.name, reports, begun)


def read(name: str, reports: Path) -> Iterable[Event | Lost]:
    """Read a journal; raises LevelfieldError: there is none of that name, or it is of a newer version."""
    return _ALL.read(name, reports)
