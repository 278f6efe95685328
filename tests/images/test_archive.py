import io
import os
import tarfile
from pathlib import Path

from levelfield.images import archive


def _written(files: list[tuple[str, Path | bytes]]) -> bytes:
    stream = io.BytesIO()
    archive.write(stream, files)
    return stream.getvalue()


def test_the_same_contents_give_the_same_bytes_whatever_the_disk_says(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"content")
    second.write_bytes(b"content")
    os.utime(first, (1, 1))
    second.chmod(0o777)
    one = _written([("x/deep/name", first), ("a", b"b")])
    other = _written([("a", b"b"), ("x/deep/name", second)])
    assert one == other
    assert one != _written([("a", b"B"), ("x/deep/name", second)])


def test_folders_come_before_what_is_in_them_and_belong_to_root() -> None:
    stream = io.BytesIO(_written([("x/deep/name", b"content")]))
    with tarfile.open(fileobj=stream) as tar:
        entries = tar.getmembers()
    assert [entry.name for entry in entries] == ["x", "x/deep", "x/deep/name"]
    assert all((entry.uid, entry.gid, entry.mtime) == (0, 0, archive.EPOCH) for entry in entries)
    assert [entry.mode for entry in entries] == [0o755, 0o755, 0o644]


def test_an_archive_ends_with_two_blocks_of_zeros_and_no_more() -> None:
    assert len(_written([("name", b"content")])) == tarfile.BLOCKSIZE * 4
