"""Choosing the Debian packages of bases, which takes a Debian machine's apt: `nox -s lock`."""

import datetime as dt
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import architectures, debian
from levelfield.images.debian import BASES, RELEASE, lock_path, package_names, read_lock, text
from levelfield.paths import cache_folder, temporary_folder
from levelfield.record.bases import BaseLock, Package

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_REQUIRED = ("?and(?or(?essential,?priority(required)),?not(?name(^apt$)))",)
"""Debian's minimal system, as an apt pattern; the base does without apt itself."""


def lock_bases(release: str = RELEASE) -> BaseLock:
    """Choose the packages of a release's bases, as a machine with nothing installed would, and write its lock.

    All of them are fetched: the index does not name the SHA-1 by which Debian's archive of all files has them.

    Raises LevelfieldError: there is no apt here, the mirror cannot be read, or a package cannot be fetched.
    """
    with temporary_folder("resolving") as root:
        options = _private_apt(root, release)
        _apt(["apt-get", *options, "-qq", "update"])
        chosen: dict[tuple[str, str], set[str]] = {}
        for base in (name for name, its in BASES.items() if its == release):
            for package in _simulate(options, base):
                chosen.setdefault(package, set()).add(base)
        packages = _describe(options, chosen, release)
    now = int(dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0).timestamp())
    lock = BaseLock(release=release, architecture=architectures.current().debian, epoch=now, packages=packages)
    lock = msgspec.structs.replace(lock, packages=tuple(_with_sha1(lock)))
    if lock_path(release).is_file() and (old := read_lock(release)).packages == lock.packages:
        return old  # with its time, so that the base stays the same
    lock_path(release).parent.mkdir(parents=True, exist_ok=True)
    lock_path(release).write_text(text(lock), encoding="utf-8")
    return lock


def _with_sha1(lock: BaseLock) -> Iterator[Package]:
    for base in BASES:
        debian.fetch(lock, base)
    for package in lock.packages:
        with (cache_folder("debs") / package.file).open("rb") as stream:
            yield msgspec.structs.replace(package, sha1=hashlib.file_digest(stream, "sha1").hexdigest())


def _private_apt(root: Path, release: str) -> list[str]:
    """Set up an apt of our own, which ignores what is installed here."""
    found, architecture = debian.mirrors(), architectures.current().debian
    addresses = {archive: each[0] for archive, each in found.items()}
    keyring = f"signed-by={_KEYRING}" if _KEYRING.is_file() else ""
    sources = [
        f"deb [arch={architecture} {keyring}] {addresses['debian']} {release} main",
        f"deb [arch={architecture} {keyring}] {addresses['debian']} {release}-updates main",
        f"deb [arch={architecture} {keyring}] {addresses['debian-security']} {release}-security main",
    ]
    (root / "sources.list").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (root / "status").touch()
    for folder in ("lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True)
    root.chmod(0o755)
    values = {
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": root / "lists",
        "Dir::State::status": root / "status",
        "Dir::Cache": root / "cache",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "root",
        # apt counts itself among the essential packages.
        "pkgCacheGen::ForceEssential": ",",
    }
    return [part for key, value in values.items() for part in ("-o", f"{key}={value}")]


def _simulate(options: list[str], base: str) -> list[tuple[str, str]]:
    requested = [*_REQUIRED, *package_names(base)]
    output = _apt(["apt-get", *options, "-qq", "install", "--no-install-recommends", "--simulate", *requested])
    return re.findall(r"^Inst (\S+) \(?(\S+)", output, re.MULTILINE)


def _describe(options: list[str], chosen: dict[tuple[str, str], set[str]], release: str) -> tuple[Package, ...]:
    names = sorted(chosen)
    candidates = [
        [cell.strip() for cell in line.split("|")]
        for line in _apt(["apt-cache", *options, "madison", *(name for name, _ in names)]).splitlines()
    ]
    # A version found in the main archive is taken from there: the security archive forgets sooner.
    lasting = {(name, version) for name, version, source in candidates if f"{release}-security" not in source}
    shown = _apt(["apt-cache", *options, "show", *(f"{name}={version}" for name, version in names)])
    packages = {}
    for paragraph in shown.split("\n\n"):
        fields = Parser().parsestr(paragraph.strip())
        key = (fields["Package"], fields["Version"])
        if key in chosen:
            packages[key] = Package(
                name=key[0],
                version=key[1],
                architecture=fields["Architecture"],
                sha256=fields["SHA256"],
                sha1="",
                size_bytes=int(fields["Size"]),
                installed_bytes=int(fields["Installed-Size"]) * 1024,
                archive="debian" if key in lasting else "debian-security",
                path=fields["Filename"],
                bases=tuple(sorted(chosen[key])),
            )
    return tuple(packages[key] for key in names)


def _apt(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        raise LevelfieldError(
            "The packages of bases are chosen with apt, and there is none here.",
            fix="Run it on a Debian machine. To build images takes none.",
        )
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if result.returncode:
        errors = (line.removeprefix("E: ") for line in result.stderr.splitlines() if line.startswith("E:"))
        raise LevelfieldError(
            f"apt could not choose the packages of the base: {next(errors, 'it gave no reason')}",
            fix="Check that `apt-get update` works here.",
        )
    return result.stdout
