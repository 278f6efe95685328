"""Virtual environments from the same locks, for machines where no container engine answers."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, programs, registries, wheels, worker_code
from levelfield.images.wheels import Progress, silent
from levelfield.names import plural
from levelfield.paths import cache_folder, cache_path, disk_space, file_lock, remove_tree, temporary_folder
from levelfield.record.schema import Image

_MARKER = "levelfield.lock"
"""Copy of the lock inside a finished environment."""


class Environment(msgspec.Struct, frozen=True):
    """A virtual environment that holds exactly what a lock says."""

    image: Image
    """Its entry in a run's record."""
    python: Path
    """The interpreter to start workers with."""
    worker_code: Path
    """Folder for `PYTHONPATH`: the same files that images carry."""


def make(name: str, variant: str = "cpu", version: str | None = None, *, progress: Progress = silent) -> Environment:
    """Return the virtual environment of a lock, made if it is not there.

    Raises LevelfieldError: no Python of the lock's minor version is here, or a wheel is wrong or cannot be fetched.
    """
    lock = catalogue.lock(name, variant, version)
    interpreter, full_version = find_python(lock)
    folder = location(lock, full_version)
    if not is_complete(folder):
        files = wheels.fetch(lock, progress=progress)
        cache_folder("venvs")
        with disk_space(), file_lock(folder.parent / f".{folder.name}.lock"):
            if not is_complete(folder):  # another process may have made it meanwhile
                progress(f"installing {plural(len(files), 'wheel')} of {lock.label} into a virtual environment")
                _install(lock, files, interpreter, folder)
    image = Image(
        name=name,
        variant=catalogue.stem(variant, version),
        launcher="venv",
        tag=folder.name,
        lock_sha256=lock.sha256,
        worker_sha256=worker_code.digest(worker_code.files(name)),
        plugins=worker_code.distributions(name),
        python=full_version,
        architecture=lock.architecture.name,
        size_bytes=sum(path.lstat().st_size for path in folder.rglob("*")),
    )
    return Environment(image, python=folder / "bin" / "python", worker_code=worker_code.folder(name))


def location(lock: catalogue.Lock, python_version: str) -> Path:
    """Return the folder of a lock's environment, whether it exists or not."""
    stem = catalogue.stem(lock.variant, lock.version)
    return cache_path().resolve() / "venvs" / f"{lock.image}-{stem}-{lock.sha256[:16]}-py{python_version}"


def is_complete(folder: Path) -> bool:
    return (folder / _MARKER).is_file()


def find_python(lock: catalogue.Lock) -> tuple[Path, str]:
    """Return an interpreter of the lock's minor version, and its full version.

    Raises LevelfieldError: there is none (wheels of one minor version do not work with another), or this is another
    kind of machine.
    """
    if platform.machine() != lock.architecture.name:
        raise LevelfieldError(
            f"The lock of {lock.label} is for {lock.architecture.name}, and this machine is {platform.machine()}.",
            fix="Use `--launcher host` with frameworks of your own, or a machine of that kind.",
        )
    found = _interpreter(lock.python)
    if found is not None:
        return found
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [name for name in catalogue.pythons(lock.image, lock.variant) if name.endswith(f"={here}")]
    fix = f"Use a container engine, whose images bring their own, or install Python {lock.python}"
    fix += f"; or name {' or '.join(lock.image + name for name in others)}." if others else "."
    raise LevelfieldError(
        f"The lock of {lock.label} is for Python {lock.python}, and there is no python{lock.python} here "
        f"(this is {here}).",
        fix=fix,
    )


def has_python(python: str) -> bool:
    """Return whether an interpreter of a minor version, such as `3.13`, is here."""
    return _interpreter(python) is not None


def _interpreter(python: str) -> tuple[Path, str] | None:
    names = [sys.executable, shutil.which(f"python{python}"), shutil.which("python3")]
    for name in filter(None, names):
        full_version = _version(name)
        if full_version.startswith(f"{python}."):
            return Path(name), full_version
    return None


def _version(interpreter: str) -> str:
    question = "import platform; print(platform.python_version())"
    result = subprocess.run([interpreter, "-I", "-c", question], capture_output=True, text=True, check=False)
    return result.stdout.strip()


def _install(lock: catalogue.Lock, files: tuple[Path, ...], interpreter: Path, folder: Path) -> None:
    # Scripts of a virtual environment hold its path, so it is made in place and only the marker makes it whole.
    remove_tree(folder)
    with temporary_folder("links") as links:
        for file in files:
            (links / file.name).symlink_to(file)
        uv = registries.uv_command()
        environment = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1", "UV_NO_PROGRESS": "1"}
        install = ["pip", "install", "--python", str(folder / "bin" / "python"), "--offline", "--no-cache"]
        install += ["--no-index", "--find-links", str(links), "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        install += ["--compile-bytecode", "--link-mode", "copy", "--requirement", str(lock.path)]
        for command in (["venv", "--quiet", "--python", str(interpreter), str(folder)], install):
            result = programs.run([*uv, *command], environment=environment)
            if result.returncode:
                known = programs.reason(result.stderr, folder)  # before its space is freed
                remove_tree(folder)
                raise LevelfieldError(
                    f"The virtual environment of {lock.label} could not be made: "
                    + (f"{known.sentence}." if known else result.stderr.strip()[-500:]),
                    fix=known.fix if known else "Run the command again; what was fetched is kept.",
                )
    shutil.copyfile(lock.path, folder / f".{_MARKER}")
    (folder / f".{_MARKER}").rename(folder / _MARKER)
