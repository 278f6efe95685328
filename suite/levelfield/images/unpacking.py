"""A base from Debian packages, without dpkg: the files of `.deb` archives and dpkg's own notes of them, as one layer.

References
----------
deb(5), the format of a package; dpkg-query(1) and deb-control(5), what stands in dpkg's folder.
"""

import gzip
import hashlib
import io
import lzma
import os
import posixpath
import re
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec

from levelfield.errors import LevelfieldError, explained
from levelfield.images import layer
from levelfield.images.layer import Layer
from levelfield.paths import cache_folder

RULES = 1
"""Part of a base's identity: raised by each change of what is made of the same packages."""
_LEFT_OUT = re.compile(r"usr/share/(?:(?:man|info|locale)/|doc/[^/]+/(?!copyright$))")
"""Documents and translations are not needed to measure; licences stay."""
_MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Folders that Debian has merged with those below `/usr`; packages of bookworm still name them apart."""
_OPENERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "": lambda stream: stream,
    ".gz": lambda stream: cast("IO[bytes]", gzip.GzipFile(fileobj=stream)),
    ".xz": lzma.LZMAFile,
}
"""How the archives of a package are compressed. Debian does not take Zstandard."""
_RIGHTS = 0o1777
"""Bits of a mode that stay. Files that run as another user or group lose that: all belongs to root in a layer, and
workers may gain no rights."""
_FIX = "Report it with the lock of the base, or use a ready base: `--base registry`."
_INFO = "var/lib/dpkg/info"


_CHUNK_BYTES = 1 << 20


class Spool:
    """Contents of files, one after another in a file; several threads may add to it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._end = 0
        self._lock = threading.Lock()

    def put(self, content: IO[bytes], size_bytes: int) -> int:
        """Add as many bytes of a stream, and return where they begin."""
        with self._lock:
            start, self._end = self._end, self._end + size_bytes
        at = start
        while at < start + size_bytes:
            chunk = content.read(min(_CHUNK_BYTES, start + size_bytes - at))
            if not chunk:
                raise ValueError("a package ends within one of its files")
            at += os.pwrite(self.file.fileno(), chunk, at)
        return start


class Entry(msgspec.Struct, frozen=True):
    """A file, link or folder."""

    header: tarfile.TarInfo
    start: int = 0
    """Of a plain file: where its content begins in the spool."""


class Tree:
    """A file system that is being put together. Paths are relative to its root: `usr/bin/python3`."""

    def __init__(self, spool: Spool, newest_s: int) -> None:
        self._spool = spool
        self._newest_s = newest_s
        self.entries: dict[str, Entry] = {}

    def __contains__(self, path: str) -> bool:
        return path in self.entries

    def below(self, folder: str) -> list[str]:
        """Return the paths of all that is in a folder, sorted."""
        return sorted(path for path in self.entries if path.startswith(f"{folder}/"))

    def read(self, path: str) -> bytes:
        entry = self.entries[path]
        return os.pread(self._spool.file.fileno(), entry.header.size, entry.start)

    def file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        header = self._header(path, tarfile.REGTYPE, mode)
        header.size = len(content)
        self.entries[path] = Entry(header, self._spool.put(io.BytesIO(content), len(content)))

    def link(self, path: str, target: str) -> None:
        header = self._header(path, tarfile.SYMTYPE, 0o777)
        header.linkname = target
        self.entries[path] = Entry(header)

    def folder(self, path: str, mode: int = 0o755) -> None:
        self.entries[path] = Entry(self._header(path, tarfile.DIRTYPE, mode))

    def write(self, target: BinaryIO) -> Layer:
        """Write everything as one layer: sorted by path, folders that nobody named added, hard links at the end."""
        for parent in {parent for path in self.entries for parent in _parents(path)}:
            if parent not in self.entries:
                self.folder(parent)
            if not self.entries[parent].header.isdir():
                raise LevelfieldError(
                    f"A package of the base holds files below {parent}, which is no folder.",
                    fix="Report it with the lock.",
                )
        return layer.write(self._sorted(), target, self._newest_s)

    def _sorted(self) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
        for path in sorted(self.entries, key=lambda path: (self.entries[path].header.islnk(), path)):
            entry = self.entries[path]
            self._spool.file.seek(entry.start)
            yield entry.header, self._spool.file

    def _header(self, path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
        header = tarfile.TarInfo(path)
        header.type, header.mode, header.mtime = kind, mode, self._newest_s
        return header


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


class _Unpacked(msgspec.Struct):
    """What is in one package."""

    control: dict[str, tuple[bytes, int]]
    """Fields (`control`), checksums and scripts by their names, with their modes."""
    paths: list[str]
    """Of all files, as the package names them."""
    files: dict[str, Entry]
    """What the base takes of it."""


def unpack(packages: Iterable[Path], newest_s: int, target: BinaryIO) -> Layer:
    """Write the files of packages, set up as their scripts would, as one layer."""
    with (
        tempfile.TemporaryFile(prefix="unpacking-", dir=cache_folder("downloads")) as file,
        ThreadPoolExecutor(os.cpu_count()) as threads,
    ):
        spool = Spool(file)
        tree = Tree(spool, newest_s)
        unpacked = tuple(threads.map(lambda package: _package(package, spool), packages))
        for each in unpacked:
            for path, entry in each.files.items():
                _place(tree, path, entry)
        _merge_folders(tree)
        _note(tree, unpacked)
        configure(tree)
        return tree.write(target)


def _place(tree: Tree, path: str, entry: Entry) -> None:
    there = tree.entries.get(path)
    if there is None:
        tree.entries[path] = entry
    elif not (there.header.isdir() and entry.header.isdir()):
        raise LevelfieldError(f"Two packages of the base hold {path}.", fix=_FIX)


def _merge_folders(tree: Tree) -> None:
    """Make the links of merged folders that base-files does not ship yet: `lib` to `usr/lib`."""
    for name in _MERGED:
        if f"usr/{name}" in tree and name not in tree:
            tree.link(name, f"usr/{name}")


def _package(package: Path, spool: Spool) -> _Unpacked:
    found = _Unpacked({}, [], {})
    with explained(f"{package.name} cannot be unpacked", _FIX, ValueError, tarfile.TarError, lzma.LZMAError, EOFError):
        for name, stream in _archives(package.read_bytes()):
            # A stream, since going back in what is compressed means to begin again.
            with stream, tarfile.open(fileobj=stream, mode="r|", encoding="utf-8") as archive:
                for header in archive:
                    path = header.name.removeprefix(".").strip("/")
                    if name == "control" and header.isreg():
                        found.control[path] = _content(archive, header).read(), header.mode
                    elif name == "data" and path:
                        found.paths.append(path)
                        if not _LEFT_OUT.match(path):
                            _keep(archive, header, path, spool, found.files)
    return found


def _archives(content: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    """Return both archives of a package, `control` and `data`, as streams; around them is one of ar(5)."""
    at = len(b"!<arch>\n")
    while at + 60 <= len(content):
        name, size = content[at : at + 16].decode("ascii").rstrip(" /"), int(content[at + 48 : at + 58])
        first, _, suffix = name.partition(".tar")
        if first in {"control", "data"}:
            if suffix not in _OPENERS:
                raise ValueError(f"its compression is {suffix[1:]}, which Python's library does not read")
            yield first, _OPENERS[suffix](io.BytesIO(content[at + 60 : at + 60 + size]))
        at += 60 + size + size % 2


def _keep(archive: tarfile.TarFile, header: tarfile.TarInfo, path: str, spool: Spool, files: dict[str, Entry]) -> None:
    if ".." in path.split("/"):
        raise ValueError(f"{path} leads out of its root")
    header.name = f"usr/{path}" if path in _MERGED and header.isdir() else _merged(path)
    header.mode &= _RIGHTS
    if header.islnk():
        header.linkname = _merged(header.linkname.removeprefix(".").strip("/"))
    start = spool.put(_content(archive, header), header.size) if header.isreg() else 0
    if not (header.isdir() and header.name in files):  # of `lib` and `usr/lib` the first counts
        files[header.name] = Entry(header, start)


def _merged(path: str) -> str:
    return f"usr/{path}" if path.partition("/")[0] in _MERGED and "/" in path else path


def _content(archive: tarfile.TarFile, header: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(header)
    assert stream is not None  # a plain file has content
    return stream


def _note(tree: Tree, unpacked: Iterable[_Unpacked]) -> None:
    """Write what dpkg notes of packages: scanners find their versions there, and dpkg itself what is installed."""
    stanzas: dict[str, str] = {}
    for each in unpacked:
        control = each.control.pop("control")[0].decode().rstrip("\n")
        fields = dict(re.findall(r"^([\w-]+): *(.*)$", control, re.MULTILINE))
        name = fields["Package"] + (f":{fields['Architecture']}" if fields.get("Multi-Arch") == "same" else "")
        listing = "".join(f"/{path}\n" for path in (".", *each.paths))
        tree.file(f"{_INFO}/{name}.list", listing.encode("utf-8", "surrogateescape"))
        for part, (content, mode) in each.control.items():
            tree.file(f"{_INFO}/{name}.{part}", content, mode & _RIGHTS)
        first, rest = control.split("\n", 1)
        stanzas[name] = f"{first}\nStatus: install ok installed\n{rest}\n"
        if "conffiles" in each.control:
            stanzas[name] += f"Conffiles:\n{_conffiles(tree, each.control['conffiles'][0].decode())}"
    tree.file("var/lib/dpkg/status", "\n".join(stanzas[name] for name in sorted(stanzas)).encode())
    tree.file(f"{_INFO}/format", b"1\n")  # names of several architectures


def _conffiles(tree: Tree, listing: str) -> str:
    lines = ""
    for words in map(str.split, listing.splitlines()):
        path = words[-1]  # a flag may come first
        if (inside := _merged(path.strip("/"))) in tree:
            lines += f" {path} {hashlib.md5(tree.read(inside), usedforsecurity=False).hexdigest()}\n"
    return lines


# ---- what the scripts of packages do when they are installed, done without running them -----------------------------
#
# This is all that a program in a container can notice of it. Not made, against what dpkg leaves, are the databases of
# debconf, alternatives and PAM's profiles; logs, locks and backups of dpkg and apt; links that start services; shadow
# passwords, since nobody logs in; and the hashed names of certificates, since OpenSSL reads the bundle. The cache of
# the dynamic linker and Python's bytecode need programs of the base: they are made in a container.

_COPIES = {
    # base-files
    "etc/motd": "usr/share/base-files/motd",
    "etc/profile": "usr/share/base-files/profile",
    "root/.bashrc": "usr/share/base-files/dot.bashrc",
    "root/.profile": "usr/share/base-files/dot.profile",
    # base-passwd
    "etc/group": "usr/share/base-passwd/group.master",
    "etc/passwd": "usr/share/base-passwd/passwd.master",
    # libc-bin
    "etc/nsswitch.conf": "usr/share/libc-bin/nsswitch.conf",
    # readline-common
    "etc/inputrc": "usr/share/readline/inputrc",
}
"""Files that are copied where there is none, and what of; where that is not there either, the package is not."""

_ALTERNATIVES = {
    # cpp, g++ and gcc
    "usr/bin/c++": "usr/bin/g++",
    "usr/bin/c89": "usr/bin/c89-gcc",
    "usr/bin/c99": "usr/bin/c99-gcc",
    "usr/bin/cc": "usr/bin/gcc",
    "usr/lib/cpp": "usr/bin/cpp",
    # debianutils
    "usr/bin/which": "usr/bin/which.debianutils",
    # mawk
    "usr/bin/awk": "usr/bin/mawk",
    "usr/bin/nawk": "usr/bin/mawk",
    # tar
    "usr/sbin/rmt": "usr/sbin/rmt-tar",
    # util-linux
    "usr/bin/pager": "usr/bin/more",
}
"""Links, by way of `/etc/alternatives`, to the only program of their kind."""

_LINKS = {
    # base-files
    "etc/dpkg/origins/default": ("debian", "etc/dpkg/origins/debian"),
    "usr/local/man": ("share/man", "usr/share/base-files/profile"),
    "var/lock": ("/run/lock", "usr/share/base-files/profile"),
    "var/run": ("/run", "usr/share/base-files/profile"),
    "var/spool/mail": ("../mail", "usr/share/base-files/profile"),
    # tzdata
    "etc/localtime": ("/usr/share/zoneinfo/Etc/UTC", "usr/share/zoneinfo/Etc/UTC"),
}
"""Links, also in place of folders; where they lead, and the file that must be there."""

_FOLDERS = (
    # base-files
    *("etc/opt", "media", "mnt", "opt", "srv", "var/mail", "var/opt"),
    *(f"usr/local/{name}" for name in ("bin", "etc", "games", "include", "lib", "sbin", "share/man", "src")),
    # dpkg
    *("var/lib/dpkg/triggers", "var/lib/dpkg/updates"),
)
_FOR_ALL = ("run/lock", "tmp", "var/tmp")
"""Folders of base-files in which everybody may write, and delete what is theirs."""

_CERTIFICATES = "usr/share/ca-certificates/mozilla"


def configure(tree: Tree) -> None:
    """Add to the files of packages what their scripts would have added."""
    for path, origin in _COPIES.items():
        if origin in tree and path not in tree:
            tree.file(path, tree.read(origin))
    for path, program in _ALTERNATIVES.items():
        if program in tree and path not in tree:
            middle = f"etc/alternatives/{path.rpartition('/')[2]}"
            tree.link(path, f"/{middle}")
            tree.link(middle, f"/{program}")
    for path, (target, needed) in _LINKS.items():
        if needed in tree:
            tree.link(path, target)
    for path in _FOLDERS:
        if path not in tree:
            tree.folder(path)
    for path in _FOR_ALL:
        tree.folder(path, 0o1777)
    if "etc/localtime" in tree:
        tree.file("etc/timezone", b"Etc/UTC\n")
    _certificates(tree)
    _dist_packages(tree)


def _certificates(tree: Tree) -> None:
    """ca-certificates: the bundle that `update-ca-certificates` makes."""
    certificates = [tree.read(path) for path in tree.below(_CERTIFICATES) if path.endswith(".crt")]
    if certificates:
        bundle = b"".join(certificate.rstrip(b"\n") + b"\n" for certificate in certificates)
        tree.file("etc/ssl/certs/ca-certificates.crt", bundle)


def _dist_packages(tree: Tree) -> None:
    """python3.x-minimal: the folder of packages that an administrator installs."""
    for path in tree.below("usr/lib"):
        name = path.removeprefix("usr/lib/")
        if name.startswith("python3.") and "/" not in name:
            tree.folder(f"usr/local/lib/{name}/dist-packages")
