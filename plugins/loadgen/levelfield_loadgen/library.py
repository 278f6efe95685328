"""MLPerf LoadGen's library for workers: the one file of a locked wheel, handed to them as weights and models are.

No image of a framework is built with it, so that its version is no part of what a framework's image is.
"""

import functools
import hashlib
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, wheels
from levelfield.images.wheels import Progress
from levelfield.record.files import write_atomically
from levelfield.record.schema import Artifact
from levelfield.schedule.resources import Driver
from levelfield_loadgen import turns

IMAGE = "loadgen"
DISTRIBUTION = "mlcommons-loadgen"
_LIBRARY = re.compile(r"mlperf_loadgen\.[A-Za-z0-9_.-]+\.so")
INSIDE = "inside.py"
MAX_BYTES = 64 << 20


def prepare(pythons: Sequence[str], root: Path, progress: Progress) -> Driver:
    """Fetch the locked wheels, and put the library out of each beside what calls it: `inside.py`.

    Raises LevelfieldError: a wheel cannot be fetched, is another one than was locked, or holds no library.
    """
    locks = [lock for python in dict.fromkeys(pythons) if (lock := _lock(python)) is not None]
    if not locks:
        raise LevelfieldError(
            "LoadGen is locked for none of the Pythons that workers run here.",
            fix="Leave the LoadGen scenarios out, or run the backends in containers.",
        )
    pins = [next(pin for pin in lock.pins if pin.name == DISTRIBUTION) for lock in locks]
    inside = Path(__file__).with_name(INSIDE).read_bytes()
    files: list[tuple[str, bytes, str, dict[str, str]]] = [(INSIDE, inside, "levelfield-loadgen", {})]
    for lock, pin in zip(locks, pins, strict=True):
        (wheel,) = wheels.fetch(msgspec.structs.replace(lock, pins=(pin,)), progress=progress)
        label = f"LoadGen {pin.version} for Python {lock.python}"
        files.append((*_library(wheel), label, {"wheel": pin.sha256}))
    key = hashlib.sha256(b"".join((*(pin.sha256.encode() for pin in pins), inside))).hexdigest()[:16]
    folder = f"{IMAGE}/{key}"
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder).chmod(0o755)
    for name, content, _, _ in files:
        path = root / folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)
    return Driver(
        artifacts=tuple(
            Artifact(label, hashlib.sha256(content).hexdigest(), len(content), made_by)
            for _, content, label, made_by in files
        ),
        folder=folder,
        measure=functools.partial(turns.tests, folder),
    )


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
