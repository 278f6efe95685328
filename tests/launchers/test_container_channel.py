"""A container's attached streams, with a socket in place of the engine's."""

import socket
import struct
from collections.abc import Iterator

import pytest

from levelfield.launchers.channel import ChannelClosed, ChannelTimeout
from levelfield.launchers.container_channel import STDERR, STDOUT, ContainerChannel


class Response:
    def close(self) -> None:
        """Nothing is held."""


class Attached:
    """What the SDK returns for an attached stream."""

    def __init__(self, stream: socket.socket) -> None:
        self._sock = stream
        self._response = Response()


@pytest.fixture
def streams() -> Iterator[tuple[ContainerChannel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with theirs:
        yield ContainerChannel(None, "c", Attached(ours), None), theirs  # type: ignore[arg-type]
    ours.close()


def frame(stream: int, content: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(content)) + content


def test_frames_may_arrive_in_any_pieces(streams: tuple[ContainerChannel, socket.socket]) -> None:
    channel, engine = streams
    content = frame(STDOUT, b"on") + frame(STDERR, b"a warning") + frame(STDOUT, b"e\ntwo\n")
    engine.sendall(content[:5])
    assert not channel.poll()
    engine.sendall(content[5:])
    assert channel.receive(1.0) == b"one"
    assert channel.has_unrequested_line()
    assert channel.receive(1.0) == b"two"
    assert channel.stderr_tail() == "a warning"
    with pytest.raises(ChannelTimeout):
        channel.receive(0.01)


def test_a_stream_that_ends_is_a_channel_that_is_closed(streams: tuple[ContainerChannel, socket.socket]) -> None:
    channel, engine = streams
    channel.send(b"{}")
    assert engine.recv(10) == b"{}\n"
    engine.close()
    assert channel.poll()
    with pytest.raises(ChannelClosed):
        channel.receive(1.0)
    assert channel.descriptors() == ()
    channel.end(0.0)
