"""The Debian packages that bases are made of, as `images/base.lock` and those beside it name them."""

import datetime as dt
import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
import tomllib
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, fetching
from levelfield.images.catalogue import lines_of
from levelfield.images.wheels import Progress, check, silent
from levelfield.names import unknown
from levelfield.paths import cache_folder, cache_path, file_lock, images_root, temporary_folder
from levelfield.record.bases import BaseLock, Package
from levelfield.untrusted import convert, read_toml

RELEASE = "bookworm"
"""The release that most bases are made of."""
MAX_LOCK_BYTES = 4 << 20
"""Longest lock that is read; a release's has 60 kB."""
BASES = {"slim": RELEASE, "toolchain": RELEASE, "slim-trixie": "trixie"}
"""Every base, and its Debian release."""


def lock_path(release: str = RELEASE) -> Path:
    """Return the path of the lock of a release's bases: `base.lock`, `base-trixie.lock`, `aarch64/base.lock`."""
    return (
        images_root()
        / catalogue.current_architecture().folder
        / ("base.lock" if release == RELEASE else f"base-{release}.lock")
    )


def read_lock(release: str = RELEASE) -> BaseLock:
    """Read the lock of a release's bases.

    Raises LevelfieldError: it is not what `nox -s lock` writes.
    """
    return _read(lock_path(release))


def lock_of(base: str, folder: Path | None = None) -> BaseLock:
    """Read the lock that names the packages of a base of `BASES`: this checkout's, or the one that a folder holds.

    Raises LevelfieldError: there is no such base, or its lock cannot be read.
    """
    if base not in BASES:
        raise unknown("base", base, BASES)
    return read_lock(BASES[base]) if folder is None else _read(folder / file_name(base))


def file_name(base: str) -> str:
    """Return how the lock of one base alone is called in a folder of such locks."""
    return f"{base}.lock"


def _read(path: Path) -> BaseLock:
    try:
        return convert(read_toml(path, MAX_LOCK_BYTES), BaseLock)
    except OSError as error:
        raise LevelfieldError(
            f"The lock of a base {path} cannot be read: {error.strerror}.",
            fix="Leave --base out, or name a folder with it.",
        ) from error
    except (ValueError, msgspec.ValidationError) as error:
        raise LevelfieldError(f"{path} is no lock of a base: {error}.", fix="Run `nox -s lock`.") from error


def package_names(base: str) -> tuple[str, ...]:
    """Return the packages that a base asks for beyond Debian's required ones; the same in every release."""
    kind = base.removesuffix(f"-{BASES[base]}")
    return lines_of(images_root() / "base" / f"{kind}.packages")


def digest(lock: BaseLock, base: str) -> str:
    """Return the SHA-256 over what a base is made of."""
    lines = [f"{lock.release} {lock.architecture} {lock.epoch}"]
    lines += sorted(f"{package.name} {package.version} {package.sha256}" for package in lock.packages_of(base))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def missing(lock: BaseLock, base: str) -> tuple[Package, ...]:
    """Return the packages of a base that are not in the cache yet."""
    folder = cache_path() / "debs"
    return tuple(package for package in lock.packages_of(base) if not (folder / package.file).is_file())


def text(lock: BaseLock) -> str:
    lines = [
        "# Written by `nox -s lock`: every Debian package of the bases. `images/indexes.toml` says where to get them.",
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


MIRRORS = "LEVELFIELD_DEBIAN_MIRRORS"
"""Environment variable: two addresses, of `debian` and of `debian-security`, which are asked before all others."""
_APT = Path("/etc/apt")
_SECURITY = "debian-security"
_SUITES = {*BASES.values(), "stable", "oldstable", "testing", "unstable", "sid"}
_LATER = (dt.timedelta(), dt.timedelta(days=1), dt.timedelta(days=7))
"""After a lock was made: by which time the snapshots have what it names."""


class _Public(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
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


def reachable(lock: BaseLock, package: Package, *, timeout_s: float = 2.0) -> dict[str, fetching.Reason | None]:
    """Ask every host for a package, all at once, without fetching it; return why each would not give it, or None.

    The answers are here after `timeout_s`.
    """
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
    return {host: found.get(host, fetching.Reason.SLOW) for host in reversed(first)}


# ---- choosing packages, which takes a Debian machine's apt: `nox -s lock` --------------------------------------------

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
    lock = BaseLock(release=release, architecture=catalogue.current_architecture().debian, epoch=now, packages=packages)
    lock = msgspec.structs.replace(lock, packages=tuple(_with_sha1(lock)))
    if lock_path(release).is_file() and (old := read_lock(release)).packages == lock.packages:
        return old  # with its time, so that the base stays the same
    lock_path(release).parent.mkdir(parents=True, exist_ok=True)
    lock_path(release).write_text(text(lock), encoding="utf-8")
    return lock


def _with_sha1(lock: BaseLock) -> Iterator[Package]:
    for base in BASES:
        fetch(lock, base)
    for package in lock.packages:
        with (cache_folder("debs") / package.file).open("rb") as stream:
            yield msgspec.structs.replace(package, sha1=hashlib.file_digest(stream, "sha1").hexdigest())


def _private_apt(root: Path, release: str) -> list[str]:
    """Set up an apt of our own, which ignores what is installed here."""
    found, architecture = mirrors(), catalogue.current_architecture().debian
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
