"""Messages over an authenticated connection, each with its length before it."""

import contextlib
import os
import socket
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

import msgspec

from suite.errors import LevelfieldError
from suite.worker.messages import Rendezvous
from suite.worker.rendezvous import UnprovenError, join

MOST_BYTES = 4 << 20
"""Longest message; the largest that occurs, an image with its distributions, has some ten thousand bytes."""
_In = TypeVar("_In")


class ClosedError(Exception):
    """The other side has closed the connection, or cannot be reached any more."""


class MessageChannel(Generic[_In]):
    """Both directions of a connection, one message at a time.

    Parameters
    ----------
    connected
        The authenticated connection; it is taken over.
    kind
        Type of the messages that come.
    """

    def __init__(self, connected: socket.socket, kind: object) -> None:
        self.address: str = connected.getsockname()[0]
        self._connection = Connection(os.dup(connected.fileno()))
        connected.close()
        self._decoder: msgspec.json.Decoder[_In] = msgspec.json.Decoder(kind)

    def fileno(self) -> int:
        """Return the descriptor, to wait for a message."""
        return self._connection.fileno()

    def send(self, message: msgspec.Struct) -> None:
        """Send a message; raises `ClosedError`."""
        try:
            self._connection.send_bytes(msgspec.json.encode(message))
        except OSError as error:
            raise ClosedError(str(error)) from error

    def receive(self, timeout_s: float | None) -> _In:
        """Return the next message.

        Raises
        ------
        ClosedError
            None will come, or none came within the time limit.
        msgspec.MsgspecError
            It is no message of the kind that comes here.
        """
        try:
            if not self._connection.poll(timeout_s):
                raise ClosedError(f"nothing came within {timeout_s:.0f} s")
            content = self._connection.recv_bytes(MOST_BYTES)
        except (OSError, EOFError) as error:
            raise ClosedError(str(error) or "it closed the connection") from error
        return self._decoder.decode(content)

    def close(self) -> None:
        """Close it; safe to call twice."""
        with contextlib.suppress(OSError):
            self._connection.close()


def connect(address: str, port: int, key: str) -> socket.socket:
    """Connect to an agent.

    Parameters
    ----------
    address, port
        Where it listens.
    key
        That both have, hexadecimal.

    Raises
    ------
    LevelfieldError
        None answers there, or it has another key.
    """
    try:
        return join(Rendezvous(address, port, key))
    except UnprovenError as error:
        raise LevelfieldError(
            f"{address}:{port} does not take part: it did not prove that it has the key.",
            fix="Run `levelfield peer` there, with a file that holds the same key; it serves one run at a time.",
        ) from error
    except OSError as error:
        raise LevelfieldError(
            f"{address}:{port} cannot be reached: {error.strerror or error}.",
            fix="Run `levelfield peer --listen` there, and let no firewall be between.",
        ) from error
