"""Everything that a machine with no network needs, in one file: writing such a bundle, and taking one in.

A bundle holds the wheels and Debian packages that locks name, the tool's own wheels, and exported models. When it is
taken in, every file is named by the manifest, bounded by it and hashed before it gets its name.
"""

import hashlib
import io
import re
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

import msgspec

from levelfield.errors import LevelfieldError, clause
from levelfield.images import architectures, base, catalogue, debian, registries, wheels
from levelfield.images.layer import add_file
from levelfield.images.wheels import Progress, silent
from levelfield.paths import cache_folder, disk_space, images_root, temporary_folder
from levelfield.record.references import Reference
from levelfield.safety import untrusted
from levelfield.version import __version__

FORMAT = "levelfield-bundle-1"
MANIFEST = "manifest.json"
TOOL_LOCKS = ("nox.lock", "runtime.lock")
"""What `make bench` installs for itself."""
MAX_MANIFEST_BYTES = 16 * 1024 * 1024
_PART = r"[A-Za-z0-9][A-Za-z0-9._+%~!@-]{0,250}"
_NAME = re.compile(rf"(wheels|debs)/{_PART}|artifacts/(onnx|plugin-[a-z0-9-]+)/{_PART}/{_PART}")
"""Where a bundle may put something: never above the cache, never under a hidden name."""
_MODELS = "artifacts/"
_CHUNK = 1 << 20
_DAMAGED = "Copy it again, or make it anew with levelfield images bundle."


class File(msgspec.Struct, frozen=True):
    """One file of a bundle."""

    name: str
    """`wheels/…`, `debs/…` or `artifacts/…`: its path in the cache."""
    sha256: str
    size_bytes: int


class Manifest(msgspec.Struct, frozen=True):
    """What a bundle holds; its first file."""

    format: str
    tool_version: str
    locks: dict[str, str]
    """Path of every lock below `images/`, and its SHA-256: a checkout whose locks differ needs other files."""
    files: tuple[File, ...]


def pack(
    images: Iterable[Reference],
    out: Path,
    *,
    artifacts: bool = False,
    bases: bool = True,
    tool: bool = True,
    progress: Progress = silent,
) -> Manifest:
    """Fetch what is missing and write a bundle; a file that was there is replaced as a whole, or not at all.

    Raises LevelfieldError: as fetching wheels and packages does; or the file cannot be written.
    """
    chosen: dict[str, Path] = {}
    locks: dict[str, Path] = {}
    needed_bases: set[str] = set()
    for each in images:
        lock = catalogue.lock(each.name, each.variant, each.version)
        locks[f"{lock.image}/{lock.path.name}"] = lock.path
        chosen |= {f"wheels/{file.name}": file for file in wheels.fetch(lock, progress=progress)}
        if bases:
            needed_bases.add(base.name_for(lock.image, lock.python))
    for release in dict.fromkeys([debian.RELEASE, *(debian.BASES[name] for name in sorted(needed_bases))]):
        locks[debian.lock_path(release).name] = debian.lock_path(release)
    for name in sorted(needed_bases):
        files = debian.fetch(debian.lock_of(name), name, progress=progress)
        chosen |= {f"debs/{file.name}": file for file in files}
    if artifacts:
        root = cache_folder("artifacts")
        chosen |= {
            f"artifacts/{file.relative_to(root).as_posix()}": file
            for file in sorted([*(root / "onnx").rglob("*"), *root.glob("plugin-*/*/*")])
            if file.is_file()
        }
    with temporary_folder("bundling") as temporary:
        for name in TOOL_LOCKS if tool else ():
            locks[f"tool/{name}"] = images_root() / "tool" / name
            progress(f"fetching the wheels of the tool's own {name}")
            chosen |= {f"wheels/{file.name}": file for file in _tool_wheels(images_root() / "tool" / name, temporary)}
        progress(f"writing {len(chosen)} files")
        with disk_space():
            return _write(chosen, locks, out)


def _tool_wheels(lock: Path, folder: Path) -> list[Path]:
    problem = wheels.pip_download(lock, folder, ["--only-binary", ":all:"])
    if problem:
        raise LevelfieldError(
            f"The tool's own wheels cannot be fetched: {registries.without_addresses(problem).strip()[-300:]}",
            fix="Check what pip can reach, and run it again.",
        )
    return sorted(folder.glob("*.whl"))


def _write(chosen: dict[str, Path], locks: dict[str, Path], out: Path) -> Manifest:
    manifest = Manifest(
        format=FORMAT,
        tool_version=__version__,
        locks={name: wheels.digest(path) for name, path in sorted(locks.items())},
        files=tuple(File(name, wheels.digest(path), path.stat().st_size) for name, path in sorted(chosen.items())),
    )
    content = msgspec.json.encode(manifest)
    partial = out.with_name(f".{out.name}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as bundle:
            add_file(bundle, MANIFEST, io.BytesIO(content))
            for file in manifest.files:
                with chosen[file.name].open("rb") as stream:
                    add_file(bundle, file.name, stream)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return manifest


class Unpacked(msgspec.Struct, frozen=True):
    """Result of unpacking a bundle."""

    files: int
    already_cached: int
    """Files that were in the cache already, with the right content."""
    other_locks: tuple[str, ...]
    """Locks that are not those of this checkout: it will ask for other files."""
    models_left_out: int = 0
    """Files of exported models that were not taken in."""


def unpack(bundle: Path, *, models: bool = False) -> Unpacked:
    """Put the files of a bundle into the cache.

    `models`: whether exported ONNX models are taken in as well. Wheels and Debian packages are checked against the
    locks of this checkout before they are used. Nothing here says what an exported model must hold: only the bundle's
    maker stands for it. Raises LevelfieldError: it is no bundle, it was cut off or changed, or it holds what no bundle
    does. What was taken in before that has the right content and stays.
    """
    try:
        with untrusted.open_plain(bundle) as file, tarfile.open(fileobj=file, mode="r:") as opened, disk_space():
            return _unpack(opened, bundle, models=models)
    except (tarfile.TarError, EOFError) as error:
        raise LevelfieldError(f"{bundle} is no bundle, or was cut off: {error}.", fix=_DAMAGED) from error
    except OSError as error:
        raise LevelfieldError(f"{bundle} cannot be read: {error.strerror or error}.", fix=_DAMAGED) from error


def _unpack(opened: tarfile.TarFile, bundle: Path, *, models: bool) -> Unpacked:
    first = opened.next()
    if first is None or first.name != MANIFEST or not _is_plain(first) or first.size > MAX_MANIFEST_BYTES:
        raise LevelfieldError(f"{bundle} is no bundle: it does not begin with its manifest.", fix=_DAMAGED)
    manifest = _manifest(_content(opened, first).read(), bundle)
    pending = {file.name: file for file in manifest.files}
    count = already_cached = left_out = 0
    while (entry := opened.next()) is not None:
        file = pending.pop(entry.name, None)
        if file is None or not _is_plain(entry) or entry.size != file.size_bytes:
            raise LevelfieldError(
                f"{bundle} holds {entry.name[:100]!r}, which its manifest does not name.", fix=_DAMAGED
            )
        if file.name.startswith(_MODELS) and not models:
            left_out += 1
        else:
            count += 1
            already_cached += _take(_content(opened, entry), file)
        opened.members = []  # type: ignore[attr-defined]  # thousands of entries are not kept in memory
    if pending:
        raise LevelfieldError(
            f"{bundle} was cut off: {len(pending)} files are missing, such as {next(iter(pending))}.", fix=_DAMAGED
        )
    return Unpacked(
        files=count, already_cached=already_cached, other_locks=tuple(_other_locks(manifest)), models_left_out=left_out
    )


def _is_plain(entry: tarfile.TarInfo) -> bool:
    """Return whether an entry holds as many bytes as it says: a sparse one of a few bytes writes gigabytes."""
    return entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and entry.sparse is None


def _manifest(content: bytes, bundle: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise LevelfieldError(f"The manifest of {bundle} cannot be read: {clause(error)}.", fix=_DAMAGED) from error
    if manifest.format != FORMAT:
        raise LevelfieldError(
            f"{bundle} has the format {manifest.format[:40]!r}; this Levelfield reads {FORMAT}.",
            fix="Use the Levelfield that made it.",
        )
    for file in manifest.files:
        if not _NAME.fullmatch(file.name) or file.size_bytes < 0:
            raise LevelfieldError(f"{bundle} names {file.name[:100]!r}, which no bundle holds.", fix=_DAMAGED)
    return manifest


def _take(stream: IO[bytes], file: File) -> bool:
    """Put one file into the cache; return whether it was there already."""
    folder, _, rest = file.name.partition("/")
    target = cache_folder(folder) / rest
    if target.is_file():
        if wheels.digest(target) == file.sha256:
            return True
        if file.name.startswith(_MODELS):
            raise LevelfieldError(
                f"{file.name} in the bundle is not the file that is in the cache.",
                fix="Leave --models out, or remove the file from the cache to take the bundle's.",
            )
    with temporary_folder("unpacking") as temporary:
        fresh = temporary / "file"
        found = hashlib.sha256()
        with fresh.open("wb") as out:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
                out.write(chunk)
        if found.hexdigest() != file.sha256:
            raise LevelfieldError(
                f"{file.name} in the bundle is not the file that its manifest names: expected sha256 {file.sha256}, "
                f"found {found.hexdigest()}.",
                fix=_DAMAGED,
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(fresh, target)
    return False


def _content(opened: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    return cast("IO[bytes]", opened.extractfile(entry))  # it has content, since `_is_plain` holds


def _other_locks(manifest: Manifest) -> list[str]:
    found = []
    for name, sha256 in manifest.locks.items():
        parts = name.split("/")
        inside = len(parts) <= 2 and not any(part in ("", ".", "..") for part in parts)
        path = _place_of(parts)
        if not inside or not path.is_file() or wheels.digest(path) != sha256:
            found.append(name)
    return found


def _place_of(parts: list[str]) -> Path:
    """Return where a lock of this architecture is here: of an image, of a release's bases, or of the tool itself."""
    image = catalogue.images().get(parts[0])
    if image is not None:
        return image.locks.joinpath(*parts[1:])
    return images_root() / (architectures.current().folder if len(parts) == 1 else "") / "/".join(parts)
