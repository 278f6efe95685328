"""The part of `suite/` that runs inside: the last layer of every image, with a digest of its own."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from suite.images.archive import EPOCH
from suite.paths import cache_folder, package_root

INSIDE = ("__init__.py", "py.typed", "backends", "worker", "zoo")


def files() -> dict[str, bytes]:
    """Return the files that run inside, by path under the import root (`suite/worker/…`)."""
    root = package_root()
    tops = [root / name for name in INSIDE]
    paths = [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    return {
        f"suite/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in paths
        if path.is_file() and "__pycache__" not in path.relative_to(root).parts and path.suffix != ".pyc"
    }


def digest(contents: dict[str, bytes] | None = None) -> str:
    """Return the SHA-256 over names and contents of the files that run inside."""
    digested = hashlib.sha256()
    for name, content in sorted((files() if contents is None else contents).items()):
        digested.update(f"{name}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    return digested.hexdigest()


def folder() -> Path:
    """Return a folder of the cache with exactly these files, for `PYTHONPATH` where no image is."""
    contents = files()
    target = cache_folder("worker") / digest(contents)[:20]
    if target.is_dir():
        return target
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=target.parent))
    for name, content in contents.items():
        path = draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (EPOCH, EPOCH))
    draft.chmod(0o755)
    try:
        draft.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(draft)  # another process was faster, with the same files
    return target
