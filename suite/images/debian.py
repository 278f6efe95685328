"""Debian packages of the bases: `images/base.lock`, resolved and fetched with the host's own apt."""

import datetime as dt
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from email.parser import Parser
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.images import architectures
from suite.images.catalogue import lines_of
from suite.images.wheels import Progress, check, silent
from suite.names import unknown
from suite.paths import cache_folder, cache_path, images_root
from suite.safety.conversion import convert

_HELPER = Path("/usr/lib/apt/apt-helper")
"""apt's own downloader: it knows the host's proxies and certificates, and checks the hash."""

MIRRORS = "LEVELFIELD_DEBIAN_MIRRORS"
"""Environment variable: two addresses, of `debian` and of `debian-security`, instead of those of the host's apt."""

RELEASE = "bookworm"
"""The release that most bases are made of."""
BASES = {"slim": RELEASE, "toolchain": RELEASE, "slim-trixie": "trixie"}
"""Every base, and its Debian release."""
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_REQUIRED = ("?and(?or(?essential,?priority(required)),?not(?name(^apt$)))",)
"""What `mmdebstrap --variant=minbase` installs, as an apt pattern; the base does without apt itself."""


class Package(msgspec.Struct, frozen=True):
    """One locked Debian package."""

    name: str
    version: str
    architecture: str
    sha256: str
    size_bytes: int
    installed_bytes: int
    archive: str
    """`debian` or `debian-security`."""
    path: str
    """Inside the archive: `pool/…`."""
    bases: tuple[str, ...]

    @property
    def file(self) -> str:
        """File name in the cache; the colon of a version is escaped as apt does it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


class BaseLock(msgspec.Struct, frozen=True):
    """`images/base.lock`, or that of another release: every package of every base that is made of it."""

    release: str
    architecture: str
    epoch: int
    """Seconds since 1970; nothing in the base is newer. Before the newest package, its bytecode would be stale."""
    packages: tuple[Package, ...]

    def packages_of(self, base: str) -> tuple[Package, ...]:
        """Return the packages of one base."""
        return tuple(package for package in self.packages if base in package.bases)


def lock_path(release: str = RELEASE) -> Path:
    """Return the path of the lock of a release's bases: `base.lock`, `base-trixie.lock`, `aarch64/base.lock`."""
    return (
        images_root() / architectures.current().folder / ("base.lock" if release == RELEASE else f"base-{release}.lock")
    )


def read_lock(release: str = RELEASE) -> BaseLock:
    """Read the lock of a release's bases.

    Parameters
    ----------
    release
        A Debian release that `BASES` names.

    Raises
    ------
    LevelfieldError
        It is not what `nox -s lock` writes.
    """
    path = lock_path(release)
    try:
        return convert(tomllib.loads(path.read_text(encoding="utf-8")), BaseLock)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LevelfieldError(
            f"images/{path.relative_to(images_root())} cannot be read: {error}.", fix="Run `nox -s lock`."
        ) from error


def lock_of(base: str) -> BaseLock:
    """Read the lock that names the packages of a base.

    Parameters
    ----------
    base
        A name of `BASES`.

    Raises
    ------
    LevelfieldError
        There is no such base, or its lock cannot be read.
    """
    if base not in BASES:
        raise unknown("base", base, BASES)
    return read_lock(BASES[base])


def package_names(base: str) -> tuple[str, ...]:
    """Return the packages that a base asks for beyond Debian's required ones; the same in every release."""
    kind = base.removesuffix(f"-{BASES[base]}")
    return lines_of(images_root() / "base" / f"{kind}.packages")


def digest(lock: BaseLock, base: str) -> str:
    """Return the SHA-256 over what a base is made of.

    Parameters
    ----------
    lock, base
        The lock of all bases, and the name of one of them.

    Returns
    -------
    str
        Hexadecimal; it covers release, architecture, epoch, and the name, version and hash of each package.
    """
    lines = [f"{lock.release} {lock.architecture} {lock.epoch}"]
    lines += sorted(f"{package.name} {package.version} {package.sha256}" for package in lock.packages_of(base))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def missing(lock: BaseLock, base: str) -> tuple[Package, ...]:
    """Return the packages of a base that are not in the cache yet.

    Parameters
    ----------
    lock, base
        The lock of all bases, and the name of one of them.
    """
    folder = cache_path() / "debs"
    return tuple(package for package in lock.packages_of(base) if not (folder / package.file).is_file())


def fetch(lock: BaseLock, base: str, *, progress: Progress = silent) -> tuple[Path, ...]:
    """Return the packages of a base as files, fetched if need be, each with the locked hash.

    Parameters
    ----------
    lock, base
        The lock of all bases, and the name of one of them.
    progress : callable
        Called with one short line before a download.

    Returns
    -------
    tuple of Path
        Files in the cache, in the order of the lock.

    Raises
    ------
    LevelfieldError
        The mirror no longer has a version, or a file is not the locked one.
    """
    folder = cache_folder("debs")
    absent = missing(lock, base)
    if absent:
        size = sum(package.size_bytes for package in absent)
        progress(f"fetching {len(absent)} Debian packages of the {base} base, {size / 1e6:.0f} MB")
        _download(absent, folder)
    return tuple(check(folder / package.file, package.sha256) for package in lock.packages_of(base))


def mirrors() -> dict[str, str]:
    """Return the address of each archive, from the host's apt configuration or `LEVELFIELD_DEBIAN_MIRRORS`.

    Raises
    ------
    LevelfieldError
        The host's apt has no Debian archive.
    """
    chosen = os.environ.get(MIRRORS, "").split()
    if len(chosen) == 2:
        return dict(zip(("debian", "debian-security"), (each.rstrip("/") for each in chosen), strict=True))
    found: dict[str, str] = {}
    if shutil.which("apt-get"):
        layout = "$(REPO_URI)|$(RELEASE)|$(ORIGIN)|$(COMPONENT)|$(IDENTIFIER)"
        listing = subprocess.run(
            ["apt-get", "indextargets", "--format", layout], capture_output=True, text=True, check=False
        )
        for line in listing.stdout.splitlines():
            address, release, origin, component, identifier = line.split("|")
            archive = "debian-security" if release.endswith("-security") else "debian"
            # Before the first `apt-get update` the origin is not known.
            ours = origin == "Debian" or (not origin and archive in address)
            if ours and component == "main" and identifier == "Packages":
                found.setdefault(archive, address.rstrip("/"))
    if len(found) < 2:
        raise LevelfieldError(
            "The base image is made from Debian packages, and this machine's apt has no Debian archive with security "
            "updates configured.",
            fix=f"Name two mirrors in {MIRRORS} (debian, debian-security), or take a ready base: `--base registry`.",
        )
    return found


def _download(packages: tuple[Package, ...], folder: Path) -> None:
    if not _HELPER.exists():
        raise LevelfieldError(
            "Debian packages are fetched with apt, and there is no apt here.",
            fix="Use a ready base: `--base registry`.",
        )
    addresses = mirrors()
    command = [str(_HELPER), "-q=2", "-o", "Acquire::Retries=2"]
    if os.geteuid() == 0:
        # As root, apt downloads as a user of its own, who may not write to our cache.
        command += ["-o", "APT::Sandbox::User=root"]
    command += ["download-file"]
    for package in packages:
        address = f"{addresses[package.archive]}/{package.path}"
        command += [address, str(folder / package.file), f"SHA256:{package.sha256}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    for package in packages:
        (folder / f"{package.file}.FAILED").unlink(missing_ok=True)
    gone = [package for package in packages if not (folder / package.file).is_file()]
    if not gone:
        return
    names = ", ".join(f"{package.name} {package.version}" for package in gone[:3])
    names += f" and {len(gone) - 3} more" if len(gone) > 3 else ""
    if "Hash Sum mismatch" in result.stderr:
        raise LevelfieldError(
            f"The Debian mirror serves other files than the locked ones: {names}.",
            fix="Nothing was built. Choose another mirror, or re-resolve with `nox -s lock`.",
        )
    if "404" in result.stderr or "File not found" in result.stderr:
        raise LevelfieldError(
            f"The Debian mirror no longer has {names}, which the lock of the base names.",
            fix=f"Run `nox -s lock` for today's versions, name a mirror that keeps old ones in {MIRRORS}, or use a "
            "ready base: `--base registry`.",
        )
    raise LevelfieldError(
        f"The Debian packages {names} could not be fetched: {apt_error(result.stderr)}",
        fix="Check that `apt-get update` works here.",
    )


def apt_error(stderr: str) -> str:
    """Return the first error that apt printed."""
    errors = (line.removeprefix("E: ") for line in stderr.splitlines() if line.startswith("E:"))
    return next(errors, "apt gave no reason")


def lock_bases(release: str = RELEASE) -> BaseLock:
    """Resolve the bases of a release against the host's Debian mirror, as a machine with nothing installed would.

    Parameters
    ----------
    release
        A Debian release that `BASES` names.

    Returns
    -------
    BaseLock
        What was written to the release's lock.

    Raises
    ------
    LevelfieldError
        The mirror cannot be read.
    """
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        options = _private_apt(root, release)
        _apt(["apt-get", *options, "-qq", "update"])
        chosen: dict[tuple[str, str], set[str]] = {}
        for base in (name for name, its in BASES.items() if its == release):
            for package in _simulate(options, base):
                chosen.setdefault(package, set()).add(base)
        packages = _describe(options, chosen, release)
    lock = BaseLock(
        release=release, architecture=architectures.current().debian, epoch=_epoch(packages, release), packages=packages
    )
    lock_path(release).parent.mkdir(parents=True, exist_ok=True)
    lock_path(release).write_text(_toml(lock), encoding="utf-8")
    return lock


def _epoch(packages: tuple[Package, ...], release: str) -> int:
    """Return this hour, or the old lock's time if nothing else changed: the base then stays the same."""
    if lock_path(release).is_file() and (old := read_lock(release)).packages == packages:
        return old.epoch
    now = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    return int(now.timestamp())


def _private_apt(root: Path, release: str) -> list[str]:
    """Set up an apt of our own, which ignores what is installed here."""
    addresses, architecture = mirrors(), architectures.current().debian
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
            f"apt could not resolve the base: {apt_error(result.stderr)}",
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
