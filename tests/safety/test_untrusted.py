"""Plain files only, without waiting, and never more than was asked for."""

import os
import socket
import tracemalloc
from pathlib import Path

import psutil
import pytest

from suite.safety import untrusted


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert untrusted.read_plain(tmp_path / "file", 7) == b"content"


def test_more_than_the_most_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    with pytest.raises(untrusted.TooLargeError, match="longer than 6 bytes"):
        untrusted.read_plain(tmp_path / "file", 6)


def test_a_small_file_takes_little_memory_whatever_it_might_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    tracemalloc.start()
    assert untrusted.read_plain(tmp_path / "file", 1 << 34) == b"content"
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_file_without_a_size_is_read_to_its_end_and_no_further() -> None:
    """Files of /proc say that they are empty, and so does one that grows at this moment."""
    content = Path("/proc/self/smaps").read_bytes()
    assert len(untrusted.read_plain(Path("/proc/self/smaps"), 1 << 24)) > len(content) // 2
    with pytest.raises(untrusted.TooLargeError):
        untrusted.read_plain(Path("/proc/self/smaps"), 100)


def test_a_sparse_file_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(untrusted.TooLargeError):
        untrusted.read_plain(tmp_path / "file", 1 << 20)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket", "link to a pipe"])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/zero")
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as line:
                line.bind(str(path))
        case _:
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a plain file"):
        untrusted.read_plain(path, 1 << 20)


def test_links_are_followed_or_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert untrusted.read_plain(tmp_path / "link", 7) == b"content"
    with pytest.raises(OSError, match="it is a link"):
        untrusted.read_plain(tmp_path / "link", 7, follow_links=False)


def test_what_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        untrusted.open_plain(tmp_path / "file")


def test_no_file_stays_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = psutil.Process().num_fds()
    for _ in range(3):
        with pytest.raises(OSError, match="not a plain file"):
            untrusted.open_plain(tmp_path / "pipe")
    assert psutil.Process().num_fds() == before
