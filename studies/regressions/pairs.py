"""The committed list of pairs of versions, and the list that was frozen after they were classified.

A bare loop around both versions, 20 processes of each in turns, classed every pair before `ab` saw it; the record that
the frozen list names holds the rule's outcome (99 % interval of the ratio, a margin of 2 %).
"""

import enum
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.zoo import models
from studies.regressions import workloads

HERE = Path(__file__).parent
PAIRS, FROZEN = HERE / "pairs.toml", HERE / "frozen.toml"
ZOO = "zoo:"
"""What the name of a workload begins with that is one of this tool's own models."""
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


class Class(enum.StrEnum):
    """What the bare loop says of a pair."""

    SLOWER = "slower"
    """The whole interval lies above 1 + margin."""
    FASTER = "faster"
    """The whole interval lies below 1 ÷ (1 + margin)."""
    UNCHANGED = "unchanged"
    """The whole interval lies inside the margin."""
    UNDECIDED = "undecided"


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two versions of a framework on one workload, and what a public source says of them."""

    name: str
    backend: Literal["onnxruntime", "openvino"]
    old: str
    new: str
    workload: str
    """One of `studies.regressions.workloads`, or `zoo:` and one of the tool's own models."""
    source: str
    """Address of the issue, pull request or release note; for a pair without a change, of the new version's release."""
    claim: Literal["slower", "faster", "none", "unsaid"]
    """Of the new version, by that source; unsaid: it names a change of code, and none of speed."""
    says: str
    """What the source says, in a phrase: operator, versions, size."""

    @property
    def arms(self) -> tuple[str, str]:
        """The two arms, as `ab` takes them."""
        return f"{self.backend}@{self.old}", f"{self.backend}@{self.new}"

    @property
    def zoo_model(self) -> str:
        """The tool's own model; empty where the workload is a file of this trial's."""
        return self.workload.removeprefix(ZOO) if self.workload.startswith(ZOO) else ""


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pair that `ab` is tried on, with its class."""

    name: str
    class_: Class = msgspec.field(name="class")
    ratio: float
    low: float
    high: float
    model_sha256: str
    """Of the ONNX file that was classified."""


class FrozenList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them."""

    record: str
    """Name of the record of the classes."""
    record_sha256: str
    pair: tuple[Frozen, ...]


class _Pairs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pair: tuple[Pair, ...]


def read(path: Path = PAIRS) -> tuple[Pair, ...]:
    """Read the list of candidates."""
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=_Pairs).pair
    except (OSError, msgspec.MsgspecError) as error:
        raise LevelfieldError(f"{path.name} is no list of pairs: {error}.") from error
    names = [each.name for each in found]
    for each in found:
        problem = _problem(each, names)
        if problem:
            raise LevelfieldError(f"The pair {each.name} of {path.name} {problem}.")
    return found


def _problem(pair: Pair, names: Sequence[str]) -> str:
    """Say what is wrong with a pair; empty: nothing."""
    if names.count(pair.name) > 1:
        return "is there twice"
    if not _NAME.fullmatch(pair.name):
        return "has a name of other characters than a-z, 0-9, point and hyphen"
    if pair.old == pair.new:
        return "compares a version with itself"
    if not pair.source.startswith("https://"):
        return "names no address of a source"
    known = models.names() if pair.zoo_model else workloads.names()
    return "" if (pair.zoo_model or pair.workload) in known else f"has an unknown workload, {pair.workload}"


def read_frozen(path: Path = FROZEN) -> FrozenList:
    """Read the frozen list."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=FrozenList)
    except (OSError, msgspec.MsgspecError) as error:
        raise LevelfieldError(f"{path.name} is no frozen list: {error}.") from error


def required(pairs: Iterable[Pair]) -> tuple[tuple[str, str], ...]:
    """Return the images and versions that pairs need, each once, in order."""
    each = {(registry.get(pair.backend).image, version) for pair in pairs for version in (pair.old, pair.new)}
    return tuple(sorted(each, key=lambda one: (one[0], catalogue.version_key(one[1]))))


def path_of(image: str, version: str) -> Path:
    """Return where the trial keeps the lock of a version."""
    return HERE / "locks" / image / f"{catalogue.stem('cpu', version)}.lock"


def missing(pairs: Iterable[Pair]) -> tuple[tuple[str, str], ...]:
    """Return the images and versions that have a lock neither under `images/` nor here."""
    return tuple(
        (image, version)
        for image, version in required(pairs)
        if version not in catalogue.versions(image) and not path_of(image, version).is_file()
    )


def install(pairs: Iterable[Pair]) -> None:
    """Copy the locks of pairs to where the catalogue finds them."""
    for image, version in required(pairs):
        kept = path_of(image, version)
        if kept.is_file():
            folder = catalogue.mixed_folder(image)
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept, folder / kept.name)
