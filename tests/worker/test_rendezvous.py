"""Connections between workers on several hosts: who is let in, who is not, and who waits too long."""

import socket
import threading

import pytest

from suite.worker import rendezvous
from suite.worker.messages import Rendezvous
from suite.worker.rendezvous import Listener, UnprovenError, join

KEY, OTHER = "ab" * 32, "cd" * 32


def test_whoever_has_the_key_is_let_in_and_others_are_not() -> None:
    listener = Listener("127.0.0.1", KEY)
    refused: list[type[BaseException]] = []
    joined: list[socket.socket] = []

    def knock() -> None:
        try:
            join(Rendezvous("127.0.0.1", listener.port, OTHER))
        except UnprovenError as error:
            refused.append(type(error))
        with socket.create_connection(("127.0.0.1", listener.port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 4)
        joined.append(join(Rendezvous("127.0.0.1", listener.port, KEY)))

    knocking = threading.Thread(target=knock)
    knocking.start()
    (inside,) = listener.accept(1)
    knocking.join()
    assert refused == [UnprovenError]
    joined[0].sendall(b"hello\n")
    assert inside.makefile("rb").readline() == b"hello\n"
    assert inside.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert inside.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", listener.port))
    for each in (inside, *joined):
        each.close()


def test_one_that_never_speaks_does_not_keep_it_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous, "HANDSHAKE_S", 1)
    listener = Listener("127.0.0.1", KEY)
    waits = pytest.raises(TimeoutError, match="0 of 1 processes on other hosts connected to this one within 0 s")
    with socket.create_connection(("127.0.0.1", listener.port)), waits:
        listener.accept(1, timeout_s=0.2)


def test_an_address_of_another_host_cannot_be_listened_at() -> None:
    with pytest.raises(OSError, match="Cannot assign requested address"):
        Listener("198.51.100.1", KEY)  # of a network that is for documentation alone
