"""What can be built: the list of images, and their locks."""

import hashlib
import re
import tomllib
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.names import unknown
from suite.paths import images_root

PYTHON = "3.11"
"""Minor version of Python that every lock is resolved for: the one in Debian bookworm."""

MACHINE = "x86_64"
"""The only machine that locks are resolved for so far."""

_PIN = re.compile(
    r"^# (?P<file>\S+\.whl) (?P<size>\d+) bytes, (?P<installed>\d+) installed\n"
    r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[^\s;\\]+) \\\n"
    r"    --hash=sha256:(?P<sha256>[0-9a-f]{64})$",
    re.MULTILINE,
)


class Image(msgspec.Struct, frozen=True):
    """One image of the catalogue."""

    name: str
    base: str
    """`slim` or `toolchain`."""
    purpose: str


class Pin(msgspec.Struct, frozen=True):
    """One wheel of a lock: exactly these bytes."""

    name: str
    version: str
    file: str
    sha256: str
    size_bytes: int
    installed_bytes: int


class Lock(msgspec.Struct, frozen=True):
    """A resolved requirement set: `images/<image>/<variant>.lock` or `images/<image>/<variant>@<version>.lock`."""

    image: str
    variant: str
    version: str | None
    path: Path
    sha256: str
    pins: tuple[Pin, ...]
    python: str = PYTHON

    @property
    def label(self) -> str:
        """Name for people: `torch cpu`, `torch cu12@nightly`."""
        return f"{self.image} {self.variant}" + (f"@{self.version}" if self.version else "")

    @property
    def download_bytes(self) -> int:
        return sum(pin.size_bytes for pin in self.pins)

    @property
    def installed_bytes(self) -> int:
        return sum(pin.installed_bytes for pin in self.pins)


def images() -> dict[str, Image]:
    """Return every image by name, in the order of the catalogue."""
    table = tomllib.loads((images_root() / "catalogue.toml").read_text(encoding="utf-8"))
    return {name: Image(name=name, base=row["base"], purpose=row["purpose"]) for name, row in table.items()}


def image(name: str) -> Image:
    """Return the image called `name`.

    Raises
    ------
    LevelfieldError
        There is none; close matches are named.
    """
    known = images()
    if name not in known:
        raise unknown("image", name, known)
    return known[name]


def lock_names(image_name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the (variant, version) pairs that `image_name` has locks for."""
    folder = images_root() / image(image_name).name
    return tuple(_split(path) for path in sorted(folder.glob("*.lock")))


def lock(image_name: str, variant: str = "cpu", version: str | None = None) -> Lock:
    """Read the lock of an image.

    Parameters
    ----------
    image_name, variant : str
        Which image, and which variant of it (`cpu`).
    version : str, optional
        Name behind the `@` of a named version; None is the plain lock.

    Raises
    ------
    LevelfieldError
        There is no such image or lock, or the file is not one of ours.
    """
    known = lock_names(image_name)
    if (variant, version) not in known:
        asked = variant + (f"@{version}" if version else "")
        names = [each + (f"@{name}" if name else "") for each, name in known]
        raise unknown(f"lock of {image_name}", asked, names)
    stem = variant + (f"@{version}" if version else "")
    return read(images_root() / image_name / f"{stem}.lock")


def read(path: Path) -> Lock:
    """Parse one lock file.

    Raises
    ------
    LevelfieldError
        The file holds anything but exactly pinned wheels with a hash.
    """
    content = path.read_bytes()
    text = content.decode("utf-8")
    rest = re.sub(r"^#(?!.*\.whl ).*$", "", _PIN.sub("", text), flags=re.MULTILINE).strip()
    if rest:
        line = rest.splitlines()[0]
        raise LevelfieldError(
            f"The lock {path.name} of {path.parent.name} has a line that pins no wheel: {line!r}.",
            fix="Locks are written by `nox -s lock`, not by hand: run it again.",
        )
    pins = tuple(
        Pin(
            name=found["name"],
            version=found["version"],
            file=found["file"],
            sha256=found["sha256"],
            size_bytes=int(found["size"]),
            installed_bytes=int(found["installed"]),
        )
        for found in _PIN.finditer(text)
    )
    variant, version = _split(path)
    return Lock(
        image=path.parent.name,
        variant=variant,
        version=version,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        pins=pins,
    )


def write(path: Path, pins: tuple[Pin, ...]) -> None:
    """Write a lock that `read` reads and pip and uv accept."""
    lines = [
        f"# {pin.file} {pin.size_bytes} bytes, {pin.installed_bytes} installed\n"
        f"{pin.name}=={pin.version} \\\n    --hash=sha256:{pin.sha256}\n"
        for pin in sorted(pins, key=lambda pin: pin.name)
    ]
    heading = f"# Written by `nox -s lock` for Python {PYTHON} on Linux x86_64: each wheel, its size and its hash.\n\n"
    path.write_text(heading + "".join(lines), encoding="utf-8")


def _split(path: Path) -> tuple[str, str | None]:
    variant, _, version = path.stem.partition("@")
    return variant, version or None
