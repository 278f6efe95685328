"""File systems of a machine that is off, read and written from outside with e2fsprogs: nothing is mounted."""

import subprocess
from pathlib import Path

from suite.errors import LevelfieldError

_BEYOND_REPAIR = 4
"""Exit codes of e2fsck(8) are a sum; from this on, errors are left."""


def make(folder: Path, image: Path, size_bytes: int) -> None:
    """Write an ext4 file system that holds a folder."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    result = _call("mke2fs", "-q", "-F", "-t", "ext4", "-d", str(folder), str(image))
    if result.returncode:
        raise LevelfieldError(
            f"The file system {image.name} could not be made: {_last(result)}.",
            fix="Check the space left with `df -h`.",
        )


def replay(image: Path) -> None:
    """Replay the file system's journal, as the kernel does when it mounts it after the power was cut."""
    result = _call("e2fsck", "-p", "-E", "journal_only", str(image))
    if result.returncode >= _BEYOND_REPAIR:
        raise LevelfieldError(f"The file system {image.name} is damaged: {_last(result)}.", fix="Run the trial again.")


def put(image: Path, content: str, path: str) -> None:
    """Write a file into a folder that is there."""
    source = image.with_suffix(".put")
    source.write_text(content, encoding="utf-8")
    result = _call("debugfs", "-w", "-R", f'write "{source}" "{path}"', str(image))
    source.unlink()
    # debugfs exits with 0 whatever a request does; what went wrong is all that it prints beyond its first line.
    problems = [line for line in result.stderr.splitlines()[1:] if line]
    if result.returncode or problems:
        raise LevelfieldError(f"{path} could not be written into {image.name}: {_last(result)}.")


def take(image: Path, path: str, target: Path) -> Path:
    """Copy a folder out of the file system."""
    target.mkdir(parents=True, exist_ok=True)
    _call("debugfs", "-R", f'rdump "{path}" "{target}"', str(image))
    return target / Path(path).name


def _call(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise LevelfieldError(f"{command[0]} is not installed.", fix="Run `apt-get install e2fsprogs`.") from error


def _last(result: subprocess.CompletedProcess[str]) -> str:
    lines = (result.stderr or result.stdout).strip().splitlines()
    return lines[-1].rstrip(".") if lines else "it says nothing"
