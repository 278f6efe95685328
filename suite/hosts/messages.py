"""What a run and the agents on other hosts say to each other."""

from typing import TypeAlias

import msgspec

from suite.record.schema import Fingerprint, Image
from suite.worker.messages import Rendezvous


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """First request of a run."""

    tool_sha256: str
    """Of the run's own tool."""


class Prepare(msgspec.Struct, frozen=True, tag="prepare"):
    """Make an image ready, and the weights of models."""

    image: str
    variant: str
    version: str | None
    models: tuple[str, ...]


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Start a worker that another one leads; one of the same name is ended first."""

    name: str
    """The arm and case."""
    image: str
    """Tag that `Prepared` gave."""
    model: str
    threads: int
    memory_bytes: int
    cache: str
    """Name of the folder of its compile cache, which launches of the same arm and model share."""
    rendezvous: Rendezvous
    """Its paths are the agent's to fill in."""


class End(msgspec.Struct, frozen=True, tag="end"):
    """End a worker."""

    name: str


Request: TypeAlias = Hello | Prepare | Start | End


class Here(msgspec.Struct, frozen=True, tag="here"):
    """Answer to `Hello`: the two run the same tool."""

    machine: Fingerprint
    cpus: int
    """How many a worker may be given there."""


class Prepared(msgspec.Struct, frozen=True, tag="prepared"):
    image: Image
    weights_sha256: dict[str, str]
    """By model."""


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The worker is starting."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    stderr: str
    """The end of what the worker wrote there; empty where there was none, or no worker."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The request could not be served."""

    message: str
    """What happened, and what to do, in sentences."""


Reply: TypeAlias = Here | Prepared | Started | Ended | Refused
