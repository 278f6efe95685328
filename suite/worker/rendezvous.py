"""TCP connections between a leading worker and workers on other hosts, each authenticated by a key of one launch.

The key proves who may join; what is sent afterwards is neither encrypted nor signed, and the engines of training
authenticate nothing at all. The network between the hosts must be trusted.
"""

import os
import socket
import struct
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from suite.worker.messages import Rendezvous

HANDSHAKE_S = 10
"""How long the other side of a new connection may take to prove that it has the key."""
ACCEPT_TIMEOUT_S = 90.0
"""A worker on another host has to start, and starts when the leading one listens."""
KEEP_ALIVE = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}
"""The kernel notices within about 25 seconds that a host is gone, without any work of a process (tcp(7))."""


class UnprovenError(ConnectionError):
    """The other side did not prove that it has the key."""


class Listener:
    """A port on which a leading worker waits for those on other hosts.

    Parameters
    ----------
    address
        IPv4 address of this host to listen on, and no other.
    key
        That they have to have, hexadecimal.

    Raises
    ------
    OSError
        This host does not have the address.
    """

    def __init__(self, address: str, key: str) -> None:
        self.address = address
        self._key = bytes.fromhex(key)
        self._listening = socket.create_server((address, 0))
        self.port: int = self._listening.getsockname()[1]

    def accept(self, count: int, timeout_s: float = ACCEPT_TIMEOUT_S) -> list[socket.socket]:
        """Return so many authenticated connections, and listen no more.

        Others that connect are turned away.

        Parameters
        ----------
        count
            How many.
        timeout_s
            How long to wait for all of them.

        Raises
        ------
        TimeoutError
            There were fewer in time.
        """
        found: list[socket.socket] = []
        deadline = time.monotonic() + timeout_s
        try:
            while len(found) < count:
                self._listening.settimeout(max(deadline - time.monotonic(), 0.001))
                connected, _ = self._listening.accept()
                if authenticated(connected, self._key, first=True):
                    found.append(connected)
                else:
                    connected.close()
        except TimeoutError:
            for each in found:
                each.close()
            raise TimeoutError(
                f"{len(found)} of {count} processes on other hosts connected to this one within {timeout_s:.0f} s. Let "
                "no firewall be between the hosts."
            ) from None
        finally:
            self._listening.close()
        return found


def join(rendezvous: Rendezvous) -> socket.socket:
    """Connect to the leading worker.

    Raises
    ------
    UnprovenError
        It has another key, or is something else.
    OSError
        It does not answer.
    """
    connected = socket.create_connection((rendezvous.address, rendezvous.port), timeout=HANDSHAKE_S)
    if not authenticated(connected, bytes.fromhex(rendezvous.key), first=False):
        connected.close()
        raise UnprovenError("The other side did not prove that it has the key.")
    return connected


def authenticated(connected: socket.socket, key: bytes, *, first: bool) -> bool:
    """Let both sides of a new connection prove that they have a key, and set it up for short messages.

    Parameters
    ----------
    connected
        The connection; it is not closed here.
    key
        That both have to have.
    first
        Whether this side asks for a proof first: the one that accepted does.

    Returns
    -------
    bool
        False: the other side has not the key, or did not answer in time.
    """
    connected.settimeout(None)
    _limit(connected, HANDSHAKE_S)
    proofs = (deliver_challenge, answer_challenge) if first else (answer_challenge, deliver_challenge)
    try:
        with Connection(os.dup(connected.fileno())) as channel:
            for proof in proofs:
                proof(channel, key)
    except (AuthenticationError, AssertionError, EOFError, OSError, ValueError):
        return False
    _limit(connected, 0)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEP_ALIVE.items():
        connected.setsockopt(socket.IPPROTO_TCP, option, value)
    return True


def _limit(connected: socket.socket, seconds: int) -> None:
    """Limit how long one read or write may wait; 0: as long as it takes."""
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connected.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", seconds, 0))
