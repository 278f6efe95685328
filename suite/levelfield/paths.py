"""Folders: the package, the data of the images, and the user's cache."""

import atexit
import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from levelfield.errors import LevelfieldError, explained

MARK = ".levelfield"
"""File in every folder of the cache that Levelfield made."""
_KEY_BYTES = 32
_ELSEWHERE = "Set LEVELFIELD_CACHE to a folder that you can write to."
_OWNED = ".owned"
"""Ending of the file beside a temporary folder that its process holds a lock on."""
CACHE_FOLDERS = (
    "artifacts", "bases", "compiled", "debs", "downloads", "fleets", "locks", "machines", "temporary", "venvs",
    "wheels", "worker",
)  # fmt: skip
"""All folders of the cache, which `levelfield images clean` deletes."""


def package_root() -> Path:
    return Path(__file__).resolve().parent


@functools.cache
def tool_sha256() -> str:
    """Return the digest of what this tool computes and renders with: its sources, templates, scripts and styles.

    They are read once in a process: what is written to them later, it does not run.
    """
    root = package_root()
    return _digest(root, (path for path in root.rglob("*") if path.suffix in {".py", ".j2", ".js", ".css"}))


def locks_sha256() -> str:
    """Return the digest of the recipes and locks that images are made from."""
    root = images_root()
    return _digest(root, (path for path in root.rglob("*") if path.is_file()))


def _digest(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def images_root() -> Path:
    """Return the folder with recipes and locks: the checkout's `images/`, or the copy inside the package.

    Raises LevelfieldError: neither is there.
    """
    for folder in (package_root().parents[1] / "images", package_root() / "_images"):
        if (folder / "catalogue.toml").is_file():
            return folder
    raise LevelfieldError(
        "The image recipes are missing from this installation.",
        fix="Install levelfield again, or run it in a checkout.",
    )


def cache_path() -> Path:
    """Return where the cache folder is, or would be.

    `LEVELFIELD_CACHE` names it; otherwise it is `levelfield` in the XDG cache folder.
    """
    chosen = os.environ.get("LEVELFIELD_CACHE")
    xdg = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(chosen).expanduser() if chosen else Path(xdg).expanduser() / "levelfield"


def cache_root() -> Path:
    """Return the cache folder, and create it; raises LevelfieldError where it cannot be made or written to."""
    return _writable(cache_path())


def cache_folder(name: str) -> Path:
    """Return the folder `name` (one of `CACHE_FOLDERS`) inside the cache, and create it."""
    if name not in CACHE_FOLDERS:
        raise ValueError(f"{name} would never be cleaned: add it to CACHE_FOLDERS.")
    folder = cache_root() / name
    if not folder.exists() or not any(folder.iterdir()):
        _writable(folder)
        (folder / MARK).touch()
    return _writable(folder)


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Yield a new folder below the cache, which is removed afterwards, or by a later command if this one is killed.

    It lies in the file system of the rest of the cache, so that what is made in it can be moved to its place.
    """
    folder, lock = _owned_folder(purpose)
    try:
        yield folder
    finally:
        remove_temporary(folder)
        os.close(lock)


def lasting_temporary_folder(purpose: str) -> Path:
    """Return a folder as `temporary_folder` yields, owned until this process ends or calls `remove_temporary`."""
    return _owned_folder(purpose)[0]


def remove_tree(folder: Path) -> None:
    """Remove a folder, which a worker may have filled in any way; what cannot be removed stays."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # before Python 3.13: it calls itself for every level
        subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)


def remove_temporary(folder: Path) -> None:
    """Remove a temporary folder; safe to call twice. What cannot be removed yet, a later command sweeps."""
    remove_tree(folder)
    if not folder.exists():
        folder.with_suffix(_OWNED).unlink(missing_ok=True)


def _owned_folder(purpose: str) -> tuple[Path, int]:
    """Return a new folder, and the descriptor of the file beside it that this process holds a lock on.

    It goes with the process, whose other threads may not come to remove theirs.

    The kernel drops the lock however the process ends, also with the machine, and whichever container or host on the
    same file system it ran in.
    """
    root = cache_folder("temporary")
    with file_lock(root / ".lock"):  # no mark: the folder may be somebody else's
        _sweep(root)
        lock, owned = tempfile.mkstemp(_OWNED, f"{purpose}-", root)
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = Path(owned).with_suffix("")
        folder.mkdir(0o700)
    atexit.register(remove_tree, folder)  # programs that threads wait for may fill it again: a later command sweeps it
    return folder, lock


def _sweep(root: Path) -> None:
    """Remove what ended processes left: only that has a file of its owner beside it."""
    for owned in root.glob(f"*{_OWNED}"):
        with contextlib.suppress(OSError), owned.open("r+b") as file:  # another's, or locked: its process lives
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_temporary(owned.with_suffix(""))


def allows_programs(folder: Path) -> bool:
    """Return whether programs in a folder, which need not be there yet, may be executed: it is not mounted `noexec`."""
    place = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    return not os.statvfs(place).f_flag & os.ST_NOEXEC


def folders_to_clean() -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the folders of the cache that may be removed, and those that only have the same name.

    A folder that Levelfield made contains a mark. Where LEVELFIELD_CACHE names a folder with other contents, a folder
    without a mark belongs to somebody else.
    """
    there = [folder for folder in (cache_path() / name for name in CACHE_FOLDERS) if folder.is_dir()]
    chosen = bool(os.environ.get("LEVELFIELD_CACHE"))
    ours = tuple(folder for folder in there if not folder.is_symlink() and (not chosen or (folder / MARK).is_file()))
    return ours, tuple(folder for folder in there if folder not in ours)


def installation_key() -> bytes:
    """Return the secret that marks what this installation measured itself, and make it where there is none.

    It stays when the cache is cleaned. Without it, earlier runs no longer count as one's own, and no upgrade or fleet
    goes on.

    Raises LevelfieldError: the cache folder cannot be written.
    """
    path = cache_root() / "installation.key"
    try:
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return key
        path.unlink()  # of a machine that lost power: known to anybody
    except FileNotFoundError:
        pass
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # readable by its owner alone
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)  # of two processes that start at once, one makes it
    Path(draft).unlink()
    return path.read_bytes()


@contextlib.contextmanager
def disk_space() -> Iterator[None]:
    """Turn the error of a full disk, or of one that cannot be written, into a LevelfieldError."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise full(Path(os.fsdecode(error.filename)) if error.filename else cache_path()) from error
        if error.errno == errno.EROFS:
            raise LevelfieldError(
                f"{os.fsdecode(error.filename or b'') or cache_path()} is on a disk that is mounted read-only.",
                fix=_ELSEWHERE,
            ) from error
        raise


def full(path: Path) -> LevelfieldError:
    """Return the error of a disk without space, or without a free inode, for a file that could not be written there."""
    place = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    fix = "`levelfield images clean` deletes images and caches; LEVELFIELD_CACHE names another folder."
    there = os.statvfs(place)
    # A program that failed has removed its own files meanwhile: what there is less of ran out.
    if there.f_favail * 2 < there.f_files and there.f_favail * there.f_blocks < there.f_bavail * there.f_files:
        return LevelfieldError(f"The disk has no inode left for another file ({path}).", fix=f"See `df -i`. {fix}")
    return LevelfieldError(f"The disk is full ({path}).", fix=fix)


@contextlib.contextmanager
def file_lock(guard: Path, *, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold an exclusive lock between threads and processes that name the same file."""
    with guard.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _writable(folder: Path) -> Path:
    with explained(f"The cache folder {folder} cannot be made", _ELSEWHERE):
        # What users' own files become is here. Workers of root are another user, who must get to it.
        folder.mkdir(0o777 if os.getuid() == 0 else 0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LevelfieldError(f"The cache folder {folder} is not writable.", fix=_ELSEWHERE)
    return folder.resolve()
