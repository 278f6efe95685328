"""Layers: their bytes depend on names, contents and permissions, and on nothing else."""

import hashlib
import io
import tarfile
from collections.abc import Callable

import pytest

from levelfield.images import layer
from levelfield.images.layer import EPOCH


def folder(*, owner: int = 0, name: str = "", time: float = 0.0, kind: int = 0, backwards: bool = False) -> io.BytesIO:
    """What an engine gives of a folder: `env/` with two files, a link, and a hard link before its target."""
    entries = []
    for path, mode, content, link in (
        ("env/", 0o755, None, ""),
        ("env/a-link", 0o644, None, "env/bin/z"),
        ("env/bin/", 0o750, None, ""),
        ("env/bin/run", 0o4755, b"#!", ""),
        ("env/bin/z", 0o644, b"last", ""),
        ("env/lib", 0o777, None, "bin"),
    ):
        entry = tarfile.TarInfo(path)
        entry.uid = entry.gid = owner
        entry.uname = entry.gname = name
        entry.mtime = time
        entry.size = len(content or b"")
        entry.linkname = link
        types = {"env/a-link": (tarfile.LNKTYPE, 0), "env/lib": (tarfile.SYMTYPE, 0o120000)}
        entry.type, bits = types.get(
            path, (tarfile.DIRTYPE, 0o40000) if content is None else (tarfile.REGTYPE, 0o100000)
        )
        entry.mode = mode | (bits & kind)
        entries.append((entry, content))
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry, content in reversed(entries) if backwards else entries:
            archive.addfile(entry, io.BytesIO(content) if content is not None else None)
    stream.seek(0)
    return stream


def written(write: Callable[[io.BytesIO], layer.Layer]) -> tuple[layer.Layer, bytes]:
    target = io.BytesIO()
    made = write(target)
    assert made.diff_id == f"sha256:{hashlib.sha256(target.getvalue()).hexdigest()}"
    return made, target.getvalue()


def test_owners_times_types_in_modes_and_order_change_nothing() -> None:
    one, content = written(lambda target: layer.of_folder(folder(), "opt/env", target))
    for other in (
        folder(owner=1000, name="jörg"),
        folder(time=1.9e9),
        folder(time=1.5),
        folder(kind=0o170000),
        folder(backwards=True),
    ):
        assert written(lambda target, other=other: layer.of_folder(other, "opt/env", target))[0] == one  # type: ignore[misc]
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == [
        *("opt", "opt/env", "opt/env/bin", "opt/env/bin/run", "opt/env/bin/z", "opt/env/lib"),
        "opt/env/a-link",
    ]
    assert {(entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime) for entry in entries} == {
        (0, 0, "", "", EPOCH)
    }
    assert [oct(entry.mode) for entry in entries[2:4]] == ["0o750", "0o4755"]
    assert entries[-1].linkname == "opt/env/bin/z"
    assert one.size_bytes == len(b"#!last")


def test_a_device_is_no_part_of_a_layer() -> None:
    entry = tarfile.TarInfo("dev/null")
    entry.type = tarfile.CHRTYPE
    with pytest.raises(ValueError, match="dev/null is neither"):
        layer.write([(entry, None)], io.BytesIO(), EPOCH)
