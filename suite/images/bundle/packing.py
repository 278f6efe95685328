"""Write a bundle: the wheels and Debian packages that locks name, the tool's own wheels, and exported models."""

import hashlib
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from suite import __version__
from suite.errors import LevelfieldError
from suite.images import archive, catalogue, debian, registries, wheels
from suite.images.wheels import Progress, silent
from suite.paths import cache_folder, disk_space, images_root
from suite.record.references import Reference
from suite.safety import untrusted

FORMAT = "levelfield-bundle-1"
MANIFEST = "manifest.json"
TOOL_LOCKS = ("nox.lock", "runtime.lock")
"""What `make bench` installs for itself."""


class File(msgspec.Struct, frozen=True):
    """One file of a bundle."""

    name: str
    """`wheels/…`, `debs/…` or `artifacts/…`: its place in the cache."""
    sha256: str
    size_bytes: int


class Manifest(msgspec.Struct, frozen=True):
    """What a bundle holds; its first file."""

    format: str
    tool_version: str
    locks: dict[str, str]
    """Path of every lock below `images/`, and its SHA-256: a checkout with others needs other files."""
    files: tuple[File, ...]


def pack(images: Iterable[Reference], out: Path, *, artifacts: bool = False, progress: Progress = silent) -> Manifest:
    """Fetch what is missing and write a bundle; a file that was there is replaced as a whole, or not at all.

    Parameters
    ----------
    images
        Which images, with versions and variants.
    out
        The file: a tar archive, uncompressed, since wheels and packages are compressed already.
    artifacts
        Whether exported ONNX models that are in the cache travel too; without them they are exported again.
    progress : callable
        Called with one short line whenever a step begins.

    Raises
    ------
    LevelfieldError
        As fetching wheels and packages does; or the file cannot be written.
    """
    chosen: dict[str, Path] = {}
    locks: dict[str, Path] = {}
    bases: set[str] = set()
    for each in images:
        lock = catalogue.lock(each.name, each.variant, each.version)
        locks[f"{lock.image}/{lock.path.name}"] = lock.path
        chosen |= {f"wheels/{file.name}": file for file in wheels.fetch(lock, progress=progress)}
        bases.add(catalogue.image(each.name).base)
    base_lock = debian.read_lock()
    locks["base.lock"] = debian.lock_path()
    for base in sorted(bases):
        chosen |= {f"debs/{file.name}": file for file in debian.fetch(base_lock, base, progress=progress)}
    if artifacts:
        root = cache_folder("artifacts")
        chosen |= {
            f"artifacts/{file.relative_to(root).as_posix()}": file
            for file in sorted((root / "onnx").rglob("*"))
            if file.is_file()
        }
    with tempfile.TemporaryDirectory(prefix="bundling-", dir=cache_folder("downloads")) as place:
        for name in TOOL_LOCKS:
            locks[f"tool/{name}"] = images_root() / "tool" / name
            progress(f"fetching the wheels of the tool's own {name}")
            chosen |= {f"wheels/{file.name}": file for file in _tool_wheels(images_root() / "tool" / name, Path(place))}
        progress(f"writing {len(chosen)} files")
        with disk_space():
            return _write(chosen, locks, out)


def _tool_wheels(lock: Path, folder: Path) -> list[Path]:
    command = [*registries.pip_command(), "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run(
        [*command, "--requirement", str(lock)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise LevelfieldError(
            f"The tool's own wheels cannot be fetched: {registries.without_addresses(done.stderr).strip()[-300:]}",
            fix="Check what pip can reach, and run it again.",
        )
    return sorted(folder.glob("*.whl"))


def _write(chosen: dict[str, Path], locks: dict[str, Path], out: Path) -> Manifest:
    manifest = Manifest(
        format=FORMAT,
        tool_version=__version__,
        locks={name: digest(path) for name, path in sorted(locks.items())},
        files=tuple(File(name, digest(path), path.stat().st_size) for name, path in sorted(chosen.items())),
    )
    content = msgspec.json.encode(manifest)
    partial = out.with_name(f".{out.name}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as bundle:
            _add(bundle, MANIFEST, len(content), io.BytesIO(content))
            for file in manifest.files:
                with chosen[file.name].open("rb") as stream:
                    _add(bundle, file.name, file.size_bytes, stream)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def _add(bundle: tarfile.TarFile, name: str, size: int, stream: io.BufferedReader | io.BytesIO) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, archive.EPOCH, 0o644
    bundle.addfile(entry, stream)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with untrusted.open_plain(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
