"""Everything that a machine with no network needs, in one file: writing such a bundle, and taking one in.

A bundle holds the wheels and Debian packages that locks name, and the tool's own wheels. When it is
taken in, every file is named by the manifest and by a lock of this checkout, bounded and hashed before it gets its
name; other files are left out.
"""

import hashlib
import io
import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from levelfield import untrusted
from levelfield.errors import LevelfieldError, explained
from levelfield.images import base, catalogue, debian, registries, wheels
from levelfield.images.layer import add_file
from levelfield.images.wheels import Progress, silent
from levelfield.names import plural
from levelfield.paths import cache_folder, disk_space, images_root, temporary_folder
from levelfield.record.files import fresh_file
from levelfield.record.references import Reference
from levelfield.version import __version__

FORMAT = "levelfield-bundle-1"
MANIFEST = "manifest.json"
TOOL_LOCKS = ("nox.lock", "runtime.lock")
"""What `make bench` installs for itself."""
MAX_MANIFEST_BYTES = 16 * 1024 * 1024
_PART = r"[A-Za-z0-9][A-Za-z0-9._+%~!@-]{0,250}"
_NAME = re.compile(rf"(wheels|debs)/{_PART}")
"""Where a bundle may put something: never above the cache, never under a hidden name."""
_REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?P<hashes>.*(?:\n[ #].*)*)", re.MULTILINE)
_SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")
_CHUNK = 1 << 20
_HEADER_BYTES = 4096
_DAMAGED = "Copy it again, or make it anew with levelfield images bundle."


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    """`wheels/…` or `debs/…`: its path in the cache."""
    sha256: str
    size_bytes: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a bundle holds; its first file."""

    format: str
    tool_version: Annotated[str, msgspec.Meta(max_length=40)]
    files: tuple[File, ...]


def pack(
    images: Iterable[Reference], out: Path, *, bases: bool = True, tool: bool = True, progress: Progress = silent
) -> Manifest:
    """Fetch what is missing and write a bundle; a file that was there is replaced as a whole, or not at all.

    Raises LevelfieldError: as fetching wheels and packages does; or the file cannot be written.
    """
    chosen: dict[str, Path] = {}
    needed_bases: set[str] = set()
    for each in images:
        lock = catalogue.lock(each.name, each.variant, each.version)
        chosen |= {f"wheels/{file.name}": file for file in wheels.fetch(lock, progress=progress)}
        if bases:
            needed_bases.add(base.name_for(lock.image, lock.python))
    for name in sorted(needed_bases):
        files = debian.fetch(debian.lock_of(name), name, progress=progress)
        chosen |= {f"debs/{file.name}": file for file in files}
    with temporary_folder("bundling") as temporary:
        for name in TOOL_LOCKS if tool else ():
            progress(f"fetching the wheels of the tool's own {name}")
            chosen |= {f"wheels/{file.name}": file for file in _tool_wheels(images_root() / "tool" / name, temporary)}
        progress(f"writing {plural(len(chosen), 'file')}")
        with disk_space():
            return _write(chosen, out)


def _tool_wheels(lock: Path, folder: Path) -> list[Path]:
    problem = wheels.pip_download(lock, folder, ["--only-binary", ":all:"])
    if problem:
        raise LevelfieldError(
            f"The tool's own wheels cannot be fetched: {registries.without_addresses(problem).strip()[-300:]}",
            fix="Check what pip can reach, and run it again.",
        )
    return sorted(folder.glob("*.whl"))


def _write(chosen: dict[str, Path], out: Path) -> Manifest:
    manifest = Manifest(
        format=FORMAT,
        tool_version=__version__,
        files=tuple(File(name, wheels.digest(path), path.stat().st_size) for name, path in sorted(chosen.items())),
    )
    content = msgspec.json.encode(manifest)
    out.parent.mkdir(parents=True, exist_ok=True)
    with fresh_file(out) as written, tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as bundle:
        add_file(bundle, MANIFEST, io.BytesIO(content))
        for file in manifest.files:
            with chosen[file.name].open("rb") as stream:
                add_file(bundle, file.name, stream)
    return manifest


class Unpacked(msgspec.Struct, frozen=True):
    files: int
    """Files that are in the cache now."""
    already_cached: int
    """Files that were in the cache already, with the right content."""
    tool_version: str
    """Version of the tool that made it: another one may ask for other files."""
    left_out: tuple[str, ...] = ()
    """Files that no lock of this checkout names: by their names, or with their content."""


def unpack(bundle: Path) -> Unpacked:
    """Put the files of a bundle into the cache.

    Those whose name and SHA-256 no lock of this checkout has are left out. Raises LevelfieldError: it is no bundle, it
    was cut off or changed, or it holds what no bundle does; what was taken in before that stays.
    """
    try:
        with untrusted.open_plain(bundle) as file, disk_space():
            return _unpack(file, bundle)
    except (tarfile.TarError, EOFError, RecursionError) as error:
        raise LevelfieldError(f"{bundle} is no bundle, or was cut off: {error}.", fix=_DAMAGED) from error
    except OSError as error:
        raise LevelfieldError(f"{bundle} cannot be read: {error.strerror or error}.", fix=_DAMAGED) from error


class _Headers(io.RawIOBase):
    """What `tarfile` sees of a bundle: it reads any header whole, and takes the square of its length."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.seek, self.tell = file, file.seek, file.tell  # type: ignore[method-assign]

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _HEADER_BYTES:
            raise tarfile.ReadError("a header is too long")
        return self._file.read(size)


def _unpack(file: BinaryIO, bundle: Path) -> Unpacked:
    opened = tarfile.TarFile(fileobj=_Headers(file))
    first = opened.next()
    if first is None or first.name != MANIFEST or not _is_plain(first) or first.size > MAX_MANIFEST_BYTES:
        raise LevelfieldError(f"{bundle} is no bundle: it does not begin with its manifest.", fix=_DAMAGED)
    manifest = _manifest(b"".join(_content(file, first)), bundle)
    pending = {file.name: file for file in manifest.files}
    locks = _Locks()
    left_out = {file.name for file in manifest.files if not locks.name(file.name, file.sha256, file.size_bytes)}
    already_cached = 0
    while (entry := opened.next()) is not None:
        listed = pending.pop(entry.name, None)
        if listed is None or not _is_plain(entry) or entry.size != listed.size_bytes or opened.pax_headers:
            raise LevelfieldError(
                f"{bundle} holds {entry.name[:100]!r}, which its manifest does not name.", fix=_DAMAGED
            )
        if entry.name not in left_out:
            already_cached += _take(_content(file, entry), listed, locks)
        opened.members = []  # type: ignore[attr-defined]  # thousands of entries are not kept in memory
    if pending:
        raise LevelfieldError(
            f"{bundle} was cut off: {plural(len(pending), 'file is', 'files are')} missing, such as "
            f"{next(iter(pending))}.",
            fix=_DAMAGED,
        )
    kept = len(manifest.files) - len(left_out)
    return Unpacked(kept, already_cached, manifest.tool_version, tuple(sorted(left_out)))


class _Locks:
    """What the locks of this checkout and of plug-ins name."""

    def __init__(self) -> None:
        named = ((image, *each) for image in catalogue.images() for each in catalogue.lock_names(image))
        pins = (pin for each in named for pin in catalogue.lock(*each).pins)
        self._files = {(f"wheels/{pin.file}", pin.sha256): pin.size_bytes for pin in pins}
        for release in set(debian.BASES.values()):
            packages = debian.read_lock(release).packages
            self._files |= {(f"debs/{package.file}", package.sha256): package.size_bytes for package in packages}
        self._of_tool: set[tuple[str, str, str]] = set()
        """Name, version and SHA-256: these locks hold no names of files."""
        for lock in (images_root() / "tool").glob("*.lock"):
            for requirement in _REQUIREMENT.finditer(lock.read_text(encoding="utf-8")):
                name, version = canonicalize_name(requirement["name"]), requirement["version"]
                self._of_tool |= {(name, version, sha256) for sha256 in _SHA256.findall(requirement["hashes"])}

    def name(self, file: str, sha256: str, size_bytes: int | None = None) -> bool:
        """Return whether a lock has this name in the cache together with this content, and with this size if known."""
        if (file, sha256) in self._files:
            return size_bytes is None or self._files[file, sha256] in (0, size_bytes)
        parts = file.removeprefix("wheels/").split("-")  # whose tags a parser would multiply with one another
        try:
            return (canonicalize_name(parts[0]), str(Version(parts[1])), sha256) in self._of_tool
        except (IndexError, InvalidVersion):
            return False


def _is_plain(entry: tarfile.TarInfo) -> bool:
    """Return whether an entry holds as many bytes as it says: a sparse one of a few bytes writes gigabytes."""
    return entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and entry.sparse is None


def _manifest(content: bytes, bundle: Path) -> Manifest:
    with explained(
        f"The manifest of {bundle} cannot be read", _DAMAGED, msgspec.MsgspecError, RecursionError, ValueError
    ):
        manifest = msgspec.json.decode(content, type=Manifest)
    if manifest.format != FORMAT:
        raise LevelfieldError(
            f"{bundle} has the format {manifest.format[:40]!r}; this Levelfield reads {FORMAT}.",
            fix="Use the Levelfield that made it.",
        )
    for file in manifest.files:
        if not _NAME.fullmatch(file.name) or file.size_bytes < 0:
            raise LevelfieldError(f"{bundle} names {file.name[:100]!r}, which no bundle holds.", fix=_DAMAGED)
    return manifest


def _take(content: Iterable[bytes], file: File, locks: _Locks) -> bool:
    """Put one file into the cache; return whether it, or another that a lock names so, was there already."""
    folder, _, rest = file.name.partition("/")
    target = cache_folder(folder) / rest
    if target.is_file() and locks.name(file.name, wheels.digest(target)):
        return True
    with temporary_folder("unpacking") as temporary:
        fresh = temporary / "file"
        found = hashlib.sha256()
        with fresh.open("wb") as out:
            for chunk in content:
                found.update(chunk)
                out.write(chunk)
        if found.hexdigest() != file.sha256:
            raise LevelfieldError(
                f"{file.name} in the bundle is not the file that its manifest names: expected sha256 {file.sha256}, "
                f"found {found.hexdigest()}.",
                fix=_DAMAGED,
            )
        shutil.move(fresh, target)
    return False


def _content(file: BinaryIO, entry: tarfile.TarInfo) -> Iterator[bytes]:
    file.seek(entry.offset_data)
    left = entry.size
    while chunk := file.read(min(_CHUNK, left)):
        left -= len(chunk)
        yield chunk
