"""MLPerf LoadGen's library for workers: the one file of a locked wheel, handed to them as weights and models are.

No image of a framework is built with it, so that its version is no part of what a framework's image is.
"""

import hashlib
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, wheels
from levelfield.images.wheels import Progress
from levelfield.record.files import write_atomically
from levelfield.record.schema import Artifact

IMAGE = "loadgen"
DISTRIBUTION = "mlcommons-loadgen"
_LIBRARY = re.compile(r"mlperf_loadgen\.[A-Za-z0-9_.-]+\.so")
MAX_BYTES = 64 << 20


class LoadGen(msgspec.Struct, frozen=True):
    """LoadGen's libraries of one version, one for each Python that workers run."""

    folder: str
    """Under the artifacts folder."""
    version: str
    artifacts: tuple[Artifact, ...]


def prepare(pythons: Iterable[str], root: Path, progress: Progress) -> LoadGen:
    """Fetch the locked wheels and take the library out of each.

    Raises LevelfieldError: a wheel cannot be fetched, is another one than was locked, or holds no library.
    """
    locks = [lock for python in dict.fromkeys(pythons) if (lock := _lock(python)) is not None]
    if not locks:
        raise LevelfieldError(
            "LoadGen is locked for none of the Pythons that workers run here.",
            fix="Leave the LoadGen scenarios out, or run the backends in containers.",
        )
    pins = [next(pin for pin in lock.pins if pin.name == DISTRIBUTION) for lock in locks]
    key = hashlib.sha256("".join(pin.sha256 for pin in pins).encode()).hexdigest()[:16]
    folder = f"{IMAGE}/{key}"
    made = []
    for lock, pin in zip(locks, pins, strict=True):
        (wheel,) = wheels.fetch(msgspec.structs.replace(lock, pins=(pin,)), progress=progress)
        name, content = _library(wheel)
        path = root / folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        path.parent.chmod(0o755)
        sha256 = hashlib.sha256(content).hexdigest()
        made.append(
            Artifact(f"LoadGen {pin.version} for Python {lock.python}", sha256, len(content), {"wheel": pin.sha256})
        )
    return LoadGen(folder=folder, version=pins[0].version, artifacts=tuple(made))


def _lock(python: str) -> catalogue.Lock | None:
    """Return LoadGen's lock for a Python; None where there is none."""
    for variant, version in catalogue.lock_names(IMAGE):
        lock = catalogue.lock(IMAGE, variant, version)
        if lock.python == python:
            return lock
    return None


def _library(wheel: Path) -> tuple[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if _LIBRARY.fullmatch(name)]
        if len(names) != 1 or opened.getinfo(names[0]).file_size > MAX_BYTES:
            raise LevelfieldError(
                f"{wheel.name} does not hold LoadGen's library.",
                fix=f"Lock another version: levelfield images lock {IMAGE}.",
            )
        return names[0], opened.read(names[0])
