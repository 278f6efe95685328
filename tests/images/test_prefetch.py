"""What is fetched beside a run stands still while something is timed."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from suite.images.prefetch import Prefetch

PATIENCE_S = 60.0


@pytest.fixture
def silent_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An index that takes requests and never answers, and a cache without wheels."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        monkeypatch.setenv("PIP_NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
        yield


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def fetching() -> list[psutil.Process]:
    """Return the process that fetches, and the pip that it runs."""
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if each.status() != psutil.STATUS_ZOMBIE and {"suite.images.prefetch", "download"} & set(each.cmdline())
    ]


@pytest.mark.usefixtures("silent_index")
def test_it_stands_still_within_a_pause_and_ends_with_the_run() -> None:
    beside = Prefetch(["onnxruntime"])
    with beside.paused():
        pass  # nothing runs yet
    beside.begin()
    try:
        wait_until(lambda: len(fetching()) >= 2)
        running = fetching()
        with beside.paused():
            wait_until(lambda: all(each.status() == psutil.STATUS_STOPPED for each in running))
        wait_until(lambda: all(each.status() != psutil.STATUS_STOPPED for each in running))
    finally:
        beside.end()
    wait_until(lambda: not fetching())
    with beside.paused():
        pass  # nothing runs any more


def test_what_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that nobody knows is passed over; the run says what is wrong with it."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    beside = Prefetch(["no-such-image"])
    beside.begin()
    wait_until(lambda: not fetching())
    with beside.paused():
        pass
    beside.end()
    beside.end()
