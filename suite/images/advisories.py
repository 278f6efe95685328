"""Known vulnerabilities of locked wheels, by a file of advisories in the OSV format.

Nothing is asked over a network: whoever names the file decides where it comes from and how new it is.

References
----------
Open Source Vulnerability format 1.7, <https://ossf.github.io/osv-schema/>: fields, and the evaluation of versions.
"""

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from suite.errors import LevelfieldError
from suite.safety import untrusted

ECOSYSTEM = "PyPI"
MAX_FILE_BYTES = 512 * 1024 * 1024
"""Most bytes of a file, or of an archive. OSV's own archive of the whole of PyPI has some tens of megabytes."""
MAX_ENTRY_BYTES = 16 * 1024 * 1024
"""Most bytes of one file of an archive, unpacked."""
MAX_ENTRIES = 1_000_000
_FIRST = Version("0.dev0")
"""What the format writes as 0: before every version."""
_ARCHIVE = b"PK\x03\x04"
_WHERE = "Name a JSON file of OSV's format, or an archive of such files (all.zip of its PyPI folder)."


class _Package(msgspec.Struct, frozen=True):
    ecosystem: str = ""
    name: str = ""


class _Event(msgspec.Struct, frozen=True):
    introduced: str | None = None
    fixed: str | None = None
    last_affected: str | None = None
    limit: str | None = None


class _Range(msgspec.Struct, frozen=True):
    type: str
    events: tuple[_Event, ...] = ()


class _Affected(msgspec.Struct, frozen=True):
    package: _Package | None = None
    ranges: tuple[_Range, ...] | None = None
    versions: tuple[str, ...] | None = None


class Advisory(msgspec.Struct, frozen=True):
    """One advisory, with what is read of it."""

    id: str
    summary: str = ""
    aliases: tuple[str, ...] | None = None
    withdrawn: str | None = None
    """When it was taken back; None: it stands."""
    affected: tuple[_Affected, ...] | None = None

    def fixed_in(self, name: str, version: str) -> tuple[str, ...]:
        """Return the versions above one at which the advisory ends a range of affected ones, the oldest first.

        Parameters
        ----------
        name, version
            A distribution, and the version of it that is affected.
        """
        ends = (step for each in self._of(name) for steps in _ranges(each) for step in steps)
        found = {step.at: step.text for step in ends if not step.begins and not step.includes}
        return tuple(found[at] for at in sorted(found) if at > Version(version))

    def affects(self, name: str, version: str) -> bool:
        """Return whether a version of a distribution is affected.

        Parameters
        ----------
        name
            In whatever spelling; names are compared as package indexes do.
        version
            A local part (`+cpu`) is left out.
        """
        public = version.partition("+")[0]
        return self.withdrawn is None and any(_is_affected(each, public) for each in self._of(name))

    def names(self) -> Iterator[str]:
        """Return the distributions that it is about, spelled as indexes do."""
        for each in self.affected or ():
            if each.package is not None and each.package.ecosystem == ECOSYSTEM:
                yield canonicalize_name(each.package.name)

    def _of(self, name: str) -> Iterator[_Affected]:
        wanted = canonicalize_name(name)
        for each in self.affected or ():
            package = each.package
            if package is not None and package.ecosystem == ECOSYSTEM and canonicalize_name(package.name) == wanted:
                yield each


class _Many(msgspec.Struct, frozen=True):
    vulns: tuple[Advisory, ...]


class _Step(NamedTuple):
    """An event of a range, in the order in which versions meet them: one that ends a range and begins one is in it."""

    at: Version
    begins: bool
    includes: bool
    """Whether a range that ends here includes this version."""
    text: str


def _is_affected(affected: _Affected, version: str) -> bool:
    """Evaluate versions as the format says: listed, or between an introduction and the end of a range."""
    if any(_same(version, listed) for listed in affected.versions or ()):
        return True
    try:
        found = Version(version)
    except InvalidVersion:
        return False
    return any(_in_range(steps, found) for steps in _ranges(affected))


def _same(version: str, listed: str) -> bool:
    try:
        return Version(version) == Version(listed)
    except InvalidVersion:  # of before PEP 440
        return version == listed


def _ranges(affected: _Affected) -> Iterator[list[_Step]]:
    """Return the events of each range in order. Of ranges that cannot be ordered the listed versions decide."""
    for each in affected.ranges or ():
        if each.type == "ECOSYSTEM":
            try:
                yield sorted(step for event in each.events for step in _steps(event))
            except InvalidVersion:
                continue


def _steps(event: _Event) -> Iterator[_Step]:
    if event.introduced is not None:
        yield _Step(_FIRST if event.introduced == "0" else Version(event.introduced), True, False, event.introduced)
    for text, includes in ((event.fixed, False), (event.limit, False), (event.last_affected, True)):
        if text is not None:
            yield _Step(Version(text), False, includes, text)


def _in_range(steps: Iterable[_Step], version: Version) -> bool:
    inside = False
    for step in steps:
        if step.begins:
            inside = inside or step.at <= version
        else:
            inside = inside and (version < step.at or (step.includes and version == step.at))
    return inside


def read(path: Path, wanted: Iterable[str]) -> dict[str, tuple[Advisory, ...]]:
    """Read advisories about some distributions.

    Parameters
    ----------
    path
        A JSON file that holds one advisory, a list of them, or an object with a list `vulns`; or a ZIP archive of such
        files.
    wanted
        Names of distributions; advisories about others are left out.

    Returns
    -------
    dict of str to tuple of Advisory
        By the name as indexes spell it; in the order of the advisories' ids.

    Raises
    ------
    LevelfieldError
        There is no such file, it is too long, or it is not of this format.
    """
    known: dict[str, dict[str, Advisory]] = {canonicalize_name(name): {} for name in wanted}
    for advisory in _advisories(path):
        for name in advisory.names():
            if name in known:
                known[name][advisory.id] = advisory
    return {name: tuple(found[id_] for id_ in sorted(found)) for name, found in known.items() if found}


def _advisories(path: Path) -> Iterator[Advisory]:
    try:
        content = untrusted.read_plain(path, MAX_FILE_BYTES)
    except OSError as error:
        raise LevelfieldError(f"The advisories {path} cannot be read: {error.strerror or error}.", fix=_WHERE) from None
    if not content.startswith(_ARCHIVE):
        yield from _decoded(content, str(path))
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".json")]
            if len(entries) > MAX_ENTRIES:
                raise LevelfieldError(f"{path} holds more than {MAX_ENTRIES:,} files.", fix=_WHERE)
            for entry in entries:
                yield from _decoded(_unpacked(archive, entry), f"{entry.filename} in {path}")
    # RuntimeError: it is encrypted, or packed in a way that zipfile does not know. ValueError: a place before the file.
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, RuntimeError, OSError, EOFError, ValueError) as error:
        raise LevelfieldError(f"{path} is not a whole archive: {error}.", fix=_WHERE) from error


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return a file of an archive; what the archive says of its size is not believed."""
    with archive.open(entry) as stream:
        content = stream.read(MAX_ENTRY_BYTES + 1)
    if len(content) > MAX_ENTRY_BYTES:
        raise LevelfieldError(f"{entry.filename} is longer than {MAX_ENTRY_BYTES:,} bytes.", fix=_WHERE)
    return content


def _decoded(content: bytes, name: str) -> tuple[Advisory, ...]:
    try:
        if content.lstrip()[:1] == b"[":
            return msgspec.json.decode(content, type=tuple[Advisory, ...])
        return (msgspec.json.decode(content, type=Advisory),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return msgspec.json.decode(content, type=_Many).vulns
        raise LevelfieldError(f"{name} holds no advisories: {error}.", fix=_WHERE) from error
