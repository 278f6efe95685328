"""Wheels on the host: fetched once, hash-checked every time, used offline after that."""

import hashlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from levelfield import untrusted
from levelfield.errors import LevelfieldError
from levelfield.images import programs, registries
from levelfield.images.catalogue import Lock, Pin
from levelfield.images.registries import Places
from levelfield.names import plural
from levelfield.paths import cache_folder, cache_path, disk_space, temporary_folder

_ANSWER_S = 5
"""For one question; a name server may take longer than it."""

Progress: TypeAlias = Callable[[str], None]
"""Called with one short line whenever a step begins."""


def silent(step: str) -> None:
    """Ignore progress."""


def wheel_folder() -> Path:
    """Return the folder of the cache that holds wheels by file name."""
    return cache_folder("wheels")


def missing(lock: Lock) -> tuple[Pin, ...]:
    """Return the pins whose wheels have not been fetched yet (present files are not checked here)."""
    folder = cache_path() / "wheels"
    return tuple(pin for pin in lock.pins if not (folder / pin.file).is_file())


def fetch(lock: Lock, *, places: Places = registries.NOWHERE_ELSE, progress: Progress = silent) -> tuple[Path, ...]:
    """Return the wheels of a lock, fetched if need be, each with the hash that the lock names.

    Raises LevelfieldError: a wheel's hash is wrong (file, expected and found are named), or it cannot be fetched.
    """
    absent = missing(lock)
    if absent:
        unsized = sum(not pin.sized for pin in absent)
        size = f"{sum(pin.size_bytes for pin in absent) / 1e6:.0f} MB"
        size = f"{size} and {unsized} whose size is not known" if unsized else size
        progress(f"fetching {plural(len(absent), 'wheel')} of {lock.label}, {size}")
        _download(absent, lock.variant, lock.python, places)
    progress(f"checking {plural(len(lock.pins), 'wheel')} of {lock.label}")
    return tuple(check(wheel_folder() / pin.file, pin.sha256) for pin in lock.pins)


def why_not(pin: Pin, lock: Lock, public: Places) -> str:
    """Ask pip, which heeds the user's own configuration, whether an index has a pinned version; empty: one has it."""
    command = [*registries.pip_command(), "index", "versions", pin.name, "-vv", "--disable-pip-version-check"]
    command += ["--no-cache-dir", "--retries", "0", "--timeout", str(_ANSWER_S)]
    platform = registries.wheel_platform_arguments(lock.python)
    try:
        answer = subprocess.run(
            [*command, *platform, *public.pip_arguments],
            capture_output=True,
            text=True,
            timeout=6 * _ANSWER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no answer in time"
    listed = next((line for line in answer.stdout.splitlines() if line.startswith("Available versions:")), "")
    if pin.version in re.split(r"[\s,]+", listed):
        return ""
    known = programs.reason(f"{answer.stderr}\n{answer.stdout}", cache_path())
    return known.sentence if known else "no index has it"


def check(file: Path, expected: str) -> Path:
    """Return `file` if its SHA-256 is the expected one.

    `expected`: SHA-256 of the lock, hexadecimal. Raises LevelfieldError: the hash is another one.
    """
    found = digest(file)
    if found != expected:
        raise LevelfieldError(
            f"{file.name} is not the file that was locked: expected sha256 {expected}, found {found}.",
            fix=f"Delete {file} and run the command again; if it comes back wrong, your index serves another file.",
        )
    return file


def digest(file: Path) -> str:
    with untrusted.open_plain(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download(pins: Iterable[Pin], variant: str, python: str, places: Places) -> None:
    # A version with a local part (2.13.0+cpu) is never on the default index; requested separately, it does not make the
    # others wait, and a public extra index is used only for what no other index has.
    groups: dict[bool, list[Pin]] = {False: [], True: []}
    for pin in pins:
        groups["+" in pin.version].append(pin)
    with disk_space(), temporary_folder("fetching") as folder:
        for group in filter(None, groups.values()):
            problem = _fetch_pins(group, folder, places, python)
            extra = Places(tuple(index.url for index in registries.indexes(variant)))
            # Where the user's own index gave no answer, its reason is the one to be told.
            elsewhere = extra.indexes and places == registries.NOWHERE_ELSE and not programs.reason(problem, folder)
            if elsewhere and "No matching" in problem:
                problem = _fetch_pins(group, folder, extra, python)
            if problem:
                raise _failure(group, problem, folder, extra.indexes if elsewhere else ())
            for pin in group:
                _keep(folder, pin)


def pip_download(requirements: Path, folder: Path, arguments: Iterable[str]) -> str:
    """Fetch the wheels that a file of requirements names, each with the hash that it names.

    Returns what pip complained about, or an empty string.
    """
    command = [*registries.pip_command(), "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--dest", str(folder), "--requirement", str(requirements), *arguments]
    log = folder / "log"  # why an index gave nothing stands there alone
    result = programs.run([*command, "--log", str(log)])
    if not result.returncode:
        return ""
    logged = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    reasons = [line for line in logged.splitlines() if "Could not fetch URL" in line]
    return "\n".join([result.stderr, *reasons]).strip() or "it said nothing"


def _fetch_pins(pins: list[Pin], folder: Path, places: Places, python: str) -> str:
    requirements = folder / "requirements.txt"
    requirements.write_text("".join(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in pins))
    arguments = ["--no-cache-dir", *registries.wheel_platform_arguments(python), *places.pip_arguments]
    return pip_download(requirements, folder, arguments)


def _failure(pins: list[Pin], problem: str, folder: Path, public: tuple[str, ...]) -> LevelfieldError:
    words = registries.without_addresses(problem)
    if "DO NOT MATCH THE HASHES" in words:
        lines = [line.strip() for line in words.splitlines()]
        broken = next((line.split(" from ")[0] for line in lines if "==" in line and " from " in line), "a wheel")
        expected = next((line.split()[-1] for line in lines if line.startswith("Expected")), "?")
        found = next((line.split()[-1] for line in lines if line.startswith("Got")), "?")
        file = next((pin.file for pin in pins if pin.sha256 == expected), broken)
        return LevelfieldError(
            f"The index serves another file as {file}: expected sha256 {expected}, found {found}.",
            fix="Nothing was built. Ask whoever runs your package index, or re-resolve with `nox -s lock`.",
        )
    names = ", ".join(f"{pin.name} {pin.version}" for pin in pins[:3]) + (" …" if len(pins) > 3 else "")
    if known := programs.reason(problem, folder):
        fix = f"{known.fix} {registries.WITHOUT}" if public else known.fix
        return LevelfieldError(f"The locked wheels ({names}) were not fetched: {known.sentence}.", fix=fix)
    if lost := re.search(r"No matching distribution found for (\S+)", words):
        return LevelfieldError(
            f"The package index has no wheel of {lost[1]} for this machine, which is locked.",
            fix="Name an index that still has it (PIP_EXTRA_INDEX_URL), or take a newer version: "
            "levelfield images lock.",
        )
    errors = [line for line in words.splitlines() if line.startswith("ERROR")] or words.splitlines()[-1:]
    reason = errors[0].removeprefix("ERROR: ").strip() if errors else "it said nothing"
    return LevelfieldError(
        f"pip could not fetch the locked wheels ({names}): {reason}",
        fix="Check that `pip download` works here: index, proxy and certificates come from pip's own configuration.",
    )


def _keep(folder: Path, pin: Pin) -> None:
    fetched = folder / pin.file
    if not fetched.is_file():
        raise LevelfieldError(
            f"pip fetched {pin.name} {pin.version} under another name than {pin.file}.",
            fix="Re-resolve with `nox -s lock`.",
        )
    draft = wheel_folder() / f".{pin.file}.{os.getpid()}-{threading.get_ident()}"
    shutil.move(check(fetched, pin.sha256), draft)
    draft.replace(wheel_folder() / pin.file)
