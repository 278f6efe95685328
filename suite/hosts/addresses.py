"""Addresses of hosts as they are typed, and the key that hosts share."""

import ipaddress
import re
import socket
import stat
from pathlib import Path

from suite.errors import LevelfieldError

_KEY = re.compile(r"[0-9a-f]{64}")
_HIGHEST_PORT = 65535


def parse(text: str) -> tuple[str, int]:
    """Return the IPv4 address and port of `ADDRESS:PORT`, where a name is looked up.

    Raises
    ------
    LevelfieldError
        It is not of that form, or the name is not known.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) <= _HIGHEST_PORT:
        raise LevelfieldError(f"{text[:80]!r} names no host and port.", fix="Write ADDRESS:PORT, as 10.0.0.2:7450.")
    try:
        found = socket.getaddrinfo(host, int(port), socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LevelfieldError(
            f"There is no IPv4 address of {host[:80]!r}.", fix="Name the host by its address."
        ) from error
    return str(ipaddress.IPv4Address(found[0][4][0])), int(port)


def read_key(path: Path) -> str:
    """Return the key in a file, hexadecimal.

    Raises
    ------
    LevelfieldError
        It cannot be read, others than its owner may read it, or it holds no key.
    """
    fix = f"Make one, and copy it to every host: (umask 077; openssl rand -hex 32 > {path})"
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8").strip().lower()
    except (OSError, UnicodeDecodeError) as error:
        raise LevelfieldError(f"The key {path} cannot be read.", fix=fix) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise LevelfieldError(f"Others than its owner may read the key {path}.", fix=f"chmod 600 {path}")
    if not _KEY.fullmatch(text):
        raise LevelfieldError(f"{path} holds no key of 64 hexadecimal digits.", fix=fix)
    return text
