"""Network interfaces by address: gloo takes an interface's name, or else looks this host's own name up."""

import fcntl
import socket
import struct

SIOCGIFADDR, SIOCGIFNETMASK = 0x8915, 0x891B
"""Requests of ioctl(2) for an interface's IPv4 address and netmask (netdevice(7))."""
_NAME_BYTES = 16


def interface_of(address: str) -> str:
    """Return the name of the interface that has an address, or whose network holds it, as the loopback's does.

    Parameters
    ----------
    address
        An IPv4 address of this host.

    Raises
    ------
    ValueError
        No interface here has it.
    """
    wanted = _number(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                own, mask = (_ask(asked, request, name) for request in (SIOCGIFADDR, SIOCGIFNETMASK))
            except OSError:  # it has no IPv4 address
                continue
            if own == wanted or own & mask == wanted & mask:
                return name
    raise ValueError(f"No network interface of this host has the address {address}.")


def require_own_name(address: str) -> None:
    """Refuse a host whose own name stands for another address: JAX's gloo listens where that name leads.

    Parameters
    ----------
    address
        Where the other processes look for this one.

    Raises
    ------
    ValueError
        The name leads elsewhere, or nowhere.
    """
    try:
        found = socket.gethostbyname(socket.gethostname())
    except OSError:
        found = ""
    if found != address:  # neither is named: a record keeps this message
        raise ValueError(
            "The name of this host stands for another address than the one that the other hosts use, and JAX would "
            "listen there. Use containers (--launcher docker), or give the name that address in /etc/hosts."
        )


def _ask(asked: socket.socket, request: int, name: str) -> int:
    answer = fcntl.ioctl(asked.fileno(), request, struct.pack("256s", name.encode()[: _NAME_BYTES - 1]))
    return int.from_bytes(answer[20:24], "big")


def _number(address: str) -> int:
    return int.from_bytes(socket.inet_aton(address), "big")
