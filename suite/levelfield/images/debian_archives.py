"""Where Debian packages are: mirrors that the user names, those of the machine's apt, Debian's own, its snapshots."""

import datetime as dt
import os
import re
import threading
import tomllib
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import fetching
from levelfield.images.debian import BASES, missing
from levelfield.images.wheels import Progress, check, silent
from levelfield.paths import cache_folder, file_lock, images_root
from levelfield.record.bases import BaseLock, Package
from levelfield.safety.conversion import convert

MIRRORS = "LEVELFIELD_DEBIAN_MIRRORS"
"""Environment variable: two addresses, of `debian` and of `debian-security`, which are asked before all others."""
_APT = Path("/etc/apt")
_SECURITY = "debian-security"
_SUITES = {*BASES.values(), "stable", "oldstable", "testing", "unstable", "sid"}
_LATER = (dt.timedelta(), dt.timedelta(days=1), dt.timedelta(days=7))
"""After a lock was made: by which time the snapshots have what it names."""


class _Public(msgspec.Struct, frozen=True, rename="kebab"):
    debian: str
    debian_security: str
    snapshot: str


def mirrors() -> dict[str, tuple[str, ...]]:
    """Return the addresses of each archive, in the order in which they are asked.

    Raises LevelfieldError: the environment variable does not name two addresses.
    """
    public = _public()
    own = {"debian": public.debian, _SECURITY: public.debian_security}
    chosen = [address.rstrip("/") for address in os.environ.get(MIRRORS, "").split()]
    if len(chosen) not in {0, 2}:
        raise LevelfieldError(
            f"{MIRRORS} names {len(chosen)} addresses.", fix="Name two: of debian and of debian-security."
        )
    named = tuple(zip(own, chosen, strict=True)) if chosen else ()
    found: dict[str, dict[str, None]] = {archive: {} for archive in own}
    for archive, address in (*named, *_of_host(), *own.items()):
        found[archive][address] = None
    return {archive: tuple(each) for archive, each in found.items()}


def _public() -> _Public:
    content = (images_root() / "indexes.toml").read_text(encoding="utf-8")
    return convert(tomllib.loads(content)["debian"], _Public)


def _of_host() -> Iterator[tuple[str, str]]:
    """Yield archive and address of the Debian archives that the machine's apt is configured with (sources.list(5))."""
    for file in (_APT / "sources.list", *sorted((_APT / "sources.list.d").glob("*"))):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for address, suite, components in _of_stanzas(text) if file.suffix == ".sources" else _of_lines(text):
            release, _, kind = re.sub("/updates$", "-security", suite).partition("-")
            if release in _SUITES and "main" in components and address.startswith(("http://", "https://")):
                yield _SECURITY if kind == "security" else "debian", address.rstrip("/")


def _of_lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    for line in text.splitlines():
        words = re.sub(r"\[.*?\]|#.*", "", line).split()
        if len(words) > 3 and words[0] == "deb":
            yield words[1], words[2], words[3:]


def _of_stanzas(text: str) -> Iterator[tuple[str, str, list[str]]]:
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", plain):
        fields = Parser().parsestr(stanza.strip())
        if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes").lower() not in {"no", "false"}:
            for address in fields.get("URIs", "").split():
                for suite in fields.get("Suites", "").split():
                    yield address, suite, fields.get("Components", "").split()


def addresses(lock: BaseLock, package: Package) -> tuple[str, ...]:
    """Return where a package may be, the best first."""
    snapshot = _public().snapshot
    made = dt.datetime.fromtimestamp(lock.epoch, dt.UTC)
    times = ((made + later).strftime("%Y%m%dT%H%M%SZ") for later in _LATER)
    return (
        *at_mirrors(package),
        *([f"{snapshot}/file/{package.sha1}"] if package.sha1 else []),  # while it is being locked
        *(f"{snapshot}/archive/{package.archive}/{time}/{package.path}" for time in times),
    )


def at_mirrors(package: Package) -> Iterator[str]:
    """Yield where mirrors have a package."""
    found = mirrors()
    yield from (f"{address}/{package.path}" for address in found[package.archive])
    if package.archive == _SECURITY:  # the next point release takes the file over
        yield from (f"{address}/{package.path.replace('pool/updates/', 'pool/')}" for address in found["debian"])


def fetch(lock: BaseLock, base: str, *, progress: Progress = silent) -> tuple[Path, ...]:
    """Return the packages of a base as files, fetched if need be, each with the locked hash, in the order of the lock.

    Raises LevelfieldError: some cannot be had: it says why.
    """
    folder = cache_folder("debs")
    if missing(lock, base):
        with file_lock(cache_folder("downloads") / "debs.lock", waiting=lambda: progress("waiting for another fetch")):
            absent = missing(lock, base)
            size = sum(package.size_bytes for package in absent)
            progress(f"fetching {len(absent)} Debian packages of the {base} base, {size / 1e6:.0f} MB")
            fetching.fetch(
                (
                    fetching.Wanted(
                        title=package.title,
                        path=folder / package.file,
                        sha256=package.sha256,
                        size_bytes=package.size_bytes,
                        addresses=addresses(lock, package),
                    )
                    for package in absent
                ),
                lost="Run `nox -s lock` on a Debian machine for today's versions, or use a ready base: "
                "`--base registry`.",
                progress=progress,
            )
    return tuple(check(folder / package.file, package.sha256) for package in lock.packages_of(base))


class Answer(msgspec.Struct, frozen=True):
    """What a host said when it was asked for a package."""

    host: str
    problem: fetching.Reason | None
    """None: it has the package."""


def reachable(lock: BaseLock, package: Package, *, timeout_s: float = 2.0) -> tuple[Answer, ...]:
    """Ask every host for a package, all at once, without fetching it; the answers are here after `timeout_s`."""
    first = {fetching.host(address): address for address in reversed(addresses(lock, package))}
    found: dict[str, fetching.Reason | None] = {}

    def ask(host: str, address: str) -> None:
        with fetching.session() as opened:
            found[host] = fetching.problem(opened, address, package.size_bytes, timeout_s)

    # A name server may let one wait for longer than any time-out: such a thread is left behind.
    threads = [threading.Thread(target=ask, args=each, daemon=True) for each in first.items()]
    for thread in threads:
        thread.start()
    end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=timeout_s)
    for thread in threads:
        thread.join(max(0.0, (end - dt.datetime.now(dt.UTC)).total_seconds()))
    return tuple(Answer(host, found.get(host, fetching.Reason.SLOW)) for host in reversed(first))
