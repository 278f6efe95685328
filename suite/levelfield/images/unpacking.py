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
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import configured
from levelfield.images.layer import Entry, Layer, Spool, Tree
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
        configured.configure(tree)
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
    try:
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
    except (ValueError, tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise LevelfieldError(f"{package.name} cannot be unpacked: {error}.", fix=_FIX) from error
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
