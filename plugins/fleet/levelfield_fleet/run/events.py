"""What the journal of a fleet's run holds."""

from typing import Annotated, TypeAlias

import msgspec

from levelfield.images.base import Source
from levelfield.plan import Selection
from levelfield_fleet.run.messages import Name

FORMAT = 1
"""Version of the journal: a reader refuses a newer one."""
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """What every node measures."""

    format: int
    name: str
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


class Resumed(msgspec.Struct, frozen=True, tag="resumed"):
    """Nodes without a run get their tries anew."""

    at: str


class NodeSeen(msgspec.Struct, frozen=True, tag="seen"):
    """A node of the cluster, for the first time or under another id."""

    at: str
    node: Name
    """`node-01` …, or its own name where the user asked for that."""
    ray_id: _Text
    machine: _Text = ""
    """Keyed digest of the name that Ray has for it, by which it is known when Ray is started again there; empty:
    several nodes have that name."""


class AttemptBegun(msgspec.Struct, frozen=True, tag="attempt"):
    at: str
    node: Name


class AttemptFailed(msgspec.Struct, frozen=True, tag="failed"):
    at: str
    node: Name
    reason: _Text
    final: bool = False
    """Another try would end the same."""


class NodeDone(msgspec.Struct, frozen=True, tag="done"):
    """The run of a node is in the fleet's folder."""

    at: str
    node: Name
    run: Name
    sha256: _Text
    """Of its record."""


Event: TypeAlias = Begun | Resumed | NodeSeen | AttemptBegun | AttemptFailed | NodeDone
