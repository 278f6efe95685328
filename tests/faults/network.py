"""A network namespace that reaches what this machine reaches, and can be cut off."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial

NETNS = f"levelfield-faults-{os.getpid()}"
_ADDRESSES = "198.18.0"
"""Of the range for trials, RFC 2544."""


@contextlib.contextmanager
def network() -> Iterator[Callable[[], None]]:
    """Make a network namespace that reaches what this machine reaches; yield what cuts it off."""
    inside, outside = "lf-faults1", "lf-faults0"
    masquerade = ("POSTROUTING", "-s", f"{_ADDRESSES}.0/30", "-j", "MASQUERADE")
    forwards = [("FORWARD", "-i", outside, "-j", "ACCEPT"), ("FORWARD", "-o", outside, "-j", "ACCEPT")]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    ip("netns", "add", NETNS)
    try:
        ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", NETNS)
        ip("address", "add", f"{_ADDRESSES}.1/30", "dev", outside)
        ip("link", "set", outside, "up")
        ip("-n", NETNS, "address", "add", f"{_ADDRESSES}.2/30", "dev", inside)
        ip("-n", NETNS, "link", "set", "lo", "up")
        ip("-n", NETNS, "link", "set", inside, "up")
        ip("-n", NETNS, "route", "add", "default", "via", f"{_ADDRESSES}.1")
        subprocess.run(["iptables", "-t", "nat", "-A", *masquerade], check=True)
        for each in forwards:
            subprocess.run(["iptables", "-I", *each], check=True)
        yield partial(ip, "link", "set", outside, "down")
    finally:
        subprocess.run(["iptables", "-t", "nat", "-D", *masquerade], check=False)
        for each in forwards:
            subprocess.run(["iptables", "-D", *each], check=False)
        ip("netns", "delete", NETNS)
        subprocess.run(["ip", "link", "delete", outside], check=False, capture_output=True)
