"""Resolve the packages of the bases again and write `images/base.lock`: part of `nox -s lock`."""

import datetime as dt
import json
import subprocess
import tempfile
from email.parser import Parser
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.images import debian
from suite.images.debian import BaseLock, Package

RELEASE = "bookworm"
ARCHITECTURE = "amd64"
BASES = ("slim", "toolchain")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_REQUIRED = ("?and(?or(?essential,?priority(required)),?not(?name(^apt$)))",)
"""What `mmdebstrap --variant=minbase` installs, as an apt pattern; the base does without apt itself."""


def lock_bases() -> BaseLock:
    """Resolve both bases against the host's Debian mirror, as a machine with nothing installed would.

    Returns
    -------
    BaseLock
        What was written to `images/base.lock`.

    Raises
    ------
    LevelfieldError
        The mirror cannot be read.
    """
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        options = _private_apt(root)
        _apt(["apt-get", *options, "-qq", "update"])
        chosen: dict[tuple[str, str], set[str]] = {}
        for base in BASES:
            for package in _simulate(options, base):
                chosen.setdefault(package, set()).add(base)
        packages = _describe(options, chosen)
    lock = BaseLock(release=RELEASE, architecture=ARCHITECTURE, epoch=_epoch(packages), packages=packages)
    debian.lock_path().write_text(_toml(lock), encoding="utf-8")
    return lock


def _epoch(packages: tuple[Package, ...]) -> int:
    """Return this hour, or the old lock's time if nothing else changed: the base then stays the same."""
    if debian.lock_path().is_file():
        old = debian.read_lock()
        if old.packages == packages:
            return old.epoch
    now = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    return int(now.timestamp())


def _private_apt(root: Path) -> list[str]:
    """Set up an apt of our own, which ignores what is installed here."""
    addresses = debian.mirrors()
    keyring = f"signed-by={_KEYRING}" if _KEYRING.is_file() else ""
    sources = [
        f"deb [arch={ARCHITECTURE} {keyring}] {addresses['debian']} {RELEASE} main",
        f"deb [arch={ARCHITECTURE} {keyring}] {addresses['debian']} {RELEASE}-updates main",
        f"deb [arch={ARCHITECTURE} {keyring}] {addresses['debian-security']} {RELEASE}-security main",
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
        "APT::Architecture": ARCHITECTURE,
        "APT::Architectures": ARCHITECTURE,
        "APT::Sandbox::User": "root",
        # apt counts itself among the essential packages.
        "pkgCacheGen::ForceEssential": ",",
    }
    return [part for key, value in values.items() for part in ("-o", f"{key}={value}")]


def _simulate(options: list[str], base: str) -> list[tuple[str, str]]:
    wanted = [*_REQUIRED, *debian.package_names(base)]
    output = _apt(["apt-get", *options, "-qq", "install", "--no-install-recommends", "--simulate", *wanted])
    found = []
    for line in output.splitlines():
        if line.startswith("Inst "):
            _, name, rest = line.split(" ", 2)
            found.append((name, rest.lstrip("(").split(" ", 1)[0]))
    return found


def _describe(options: list[str], chosen: dict[tuple[str, str], set[str]]) -> tuple[Package, ...]:
    names = sorted(chosen)
    places = [
        [cell.strip() for cell in line.split("|")]
        for line in _apt(["apt-cache", *options, "madison", *(name for name, _ in names)]).splitlines()
    ]
    # A version found in the main archive is taken from there: the security archive forgets sooner.
    lasting = {(name, version) for name, version, place in places if f"{RELEASE}-security" not in place}
    packages = {}
    for paragraph in _apt(["apt-cache", *options, "show", *(f"{name}={version}" for name, version in names)]).split(
        "\n\n"
    ):
        fields = Parser().parsestr(paragraph.strip())
        key = (fields["Package"], fields["Version"])
        if key in chosen:
            packages[key] = Package(
                name=key[0],
                version=key[1],
                architecture=fields["Architecture"],
                sha256=fields["SHA256"],
                size_bytes=int(fields["Size"]),
                installed_bytes=int(fields["Installed-Size"]) * 1024,
                archive="debian" if key in lasting else "debian-security",
                path=fields["Filename"],
                bases=tuple(sorted(chosen[key])),
            )
    return tuple(packages[key] for key in names)


def _apt(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if result.returncode:
        raise LevelfieldError(
            f"apt could not resolve the base: {debian.apt_error(result.stderr)}",
            fix="Check that `apt-get update` works here.",
        )
    return result.stdout


def _toml(lock: BaseLock) -> str:
    lines = [
        "# Written by `nox -s lock`: every Debian package of the bases. The host's own apt knows where to get them.",
        "",
        f'release = "{lock.release}"',
        f'architecture = "{lock.architecture}"',
        f"epoch = {lock.epoch}",
        "",
        "packages = [",
    ]
    for package in lock.packages:
        # Texts, whole numbers and lists of texts are written in TOML as in JSON.
        fields = (f"{name} = {json.dumps(value)}" for name, value in msgspec.structs.asdict(package).items())
        lines.append(f"  {{ {', '.join(fields)} }},")
    return "\n".join([*lines, "]", ""])
