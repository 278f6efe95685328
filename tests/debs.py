"""Debian packages that tests make themselves."""

import io
import lzma
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path


def entry(path: str, *, mode: int = 0o644, link: str = "", hard: bool = False, folder: bool = False) -> tarfile.TarInfo:
    """Return the header of a file, link or folder; its content is given apart."""
    header = tarfile.TarInfo(f"./{path}")
    header.mode, header.linkname, header.uid, header.uname = mode, link, 1000, "builder"
    if folder:
        header.type = tarfile.DIRTYPE
    elif link:
        header.type = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
    return header


def files(contents: Mapping[str, bytes]) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(entry(path), content) for path, content in contents.items()]


def write(
    path: Path,
    data: Iterable[tuple[tarfile.TarInfo, bytes]],
    *,
    control: str = "",
    scripts: Mapping[str, bytes] = {},
    suffix: str = ".xz",
) -> Path:
    """Write a package as dpkg-deb does, named by its file: `tiny_1.0_all.deb`."""
    name, version, architecture = path.stem.split("_")
    fields = f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n{control}"
    members = [("control", files({"control": fields.encode(), **scripts})), ("data", list(data))]
    content = b"!<arch>\n" + _member("debian-binary", b"2.0\n")
    for kind, entries in members:
        archive = _tar(entries)
        content += _member(f"{kind}.tar{suffix}", lzma.compress(archive) if suffix == ".xz" else archive)
    path.write_bytes(content)
    return path


def _tar(entries: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for header, content in entries:
            header.size = len(content) if header.isreg() else 0
            archive.addfile(header, io.BytesIO(content))
    return target.getvalue()


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{0o100644:<8o}{len(content):<10}`\n".encode()
    return head + content + b"\n" * (len(content) % 2)
