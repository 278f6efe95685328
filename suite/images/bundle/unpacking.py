"""Take a bundle in: every file is named by its manifest, bounded by it and hashed before it gets its name."""

import hashlib
import re
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from suite.errors import LevelfieldError
from suite.images.bundle.packing import FORMAT, MANIFEST, File, Manifest, digest
from suite.paths import cache_folder, cache_root, disk_space, images_root
from suite.safety import untrusted

MAX_MANIFEST_BYTES = 16 * 1024 * 1024
_PART = r"[A-Za-z0-9][A-Za-z0-9._+%~!@-]{0,250}"
_NAME = re.compile(rf"(wheels|debs)/{_PART}|artifacts/onnx/{_PART}/{_PART}")
"""Where a bundle may put something: never above the cache, never under a hidden name."""
_MODELS = "artifacts/"
_CHUNK = 1 << 20
_DAMAGED = "Copy it again, or make it anew with levelfield bundle."


class Unpacked(msgspec.Struct, frozen=True):
    """Result of unpacking a bundle."""

    files: int
    there: int
    """Files that were in the cache already, with the right content."""
    other_locks: tuple[str, ...]
    """Locks that are not those of this checkout: it will ask for other files."""
    models_left_out: int = 0
    """Files of exported models that were not taken in."""


def unpack(bundle: Path, *, models: bool = False) -> Unpacked:
    """Put the files of a bundle into the cache.

    Parameters
    ----------
    bundle
        The file.
    models
        Whether exported ONNX models are taken in as well. Wheels and Debian packages are checked against the locks of
        this checkout before they are used. Nothing here says what an exported model must hold: only the bundle's maker
        stands for it.

    Raises
    ------
    LevelfieldError
        It is no bundle, it was cut off or changed, or it holds what no bundle does. What was taken in before that has
        the right content and stays.
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
    manifest = _manifest(_stream(opened, first).read(), bundle)
    wanted = {file.name: file for file in manifest.files}
    count = there = left_out = 0
    while (entry := opened.next()) is not None:
        file = wanted.pop(entry.name, None)
        if file is None or not _is_plain(entry) or entry.size != file.size_bytes:
            raise LevelfieldError(
                f"{bundle} holds {entry.name[:100]!r}, which its manifest does not name.", fix=_DAMAGED
            )
        if file.name.startswith(_MODELS) and not models:
            left_out += 1
        else:
            count += 1
            there += _take(_stream(opened, entry), file)
        opened.members = []  # type: ignore[attr-defined]  # thousands of entries are not kept in memory
    if wanted:
        raise LevelfieldError(
            f"{bundle} was cut off: {len(wanted)} files are missing, such as {next(iter(wanted))}.", fix=_DAMAGED
        )
    return Unpacked(files=count, there=there, other_locks=tuple(_other_locks(manifest)), models_left_out=left_out)


def _is_plain(entry: tarfile.TarInfo) -> bool:
    """Return whether an entry holds as many bytes as it says: a sparse one of a few bytes writes gigabytes."""
    return entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and entry.sparse is None


def _manifest(content: bytes, bundle: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise LevelfieldError(f"The manifest of {bundle} cannot be read: {said}.", fix=_DAMAGED) from error
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
    """Put one file in its place; return whether it was there already."""
    folder, _, rest = file.name.partition("/")
    target = cache_folder(folder) / rest
    if target.is_file():
        if digest(target) == file.sha256:
            return True
        if file.name.startswith(_MODELS):
            raise LevelfieldError(
                f"{file.name} in the bundle is not the file that is in the cache.",
                fix="Leave --models out, or remove the file from the cache to take the bundle's.",
            )
    with tempfile.TemporaryDirectory(prefix="unpacking-", dir=cache_folder("downloads")) as place:
        fresh = Path(place) / "file"
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


def _stream(opened: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    stream = opened.extractfile(entry)
    if stream is None:
        raise LevelfieldError(f"{entry.name[:100]!r} in the bundle is no file.", fix=_DAMAGED)
    return stream


def _other_locks(manifest: Manifest) -> list[str]:
    found = []
    for name, sha256 in manifest.locks.items():
        parts = name.split("/")
        path = images_root().joinpath(*parts)
        inside = len(parts) <= 2 and not any(part in ("", ".", "..") for part in parts)
        if not inside or not path.is_file() or digest(path) != sha256:
            found.append(name)
    return found


def where_wheels_are() -> Path:
    """Return the folder that pip is to look in, with no index."""
    return cache_root() / "wheels"
