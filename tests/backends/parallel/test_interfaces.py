"""Which network interface has an address, and whether a host's name leads to it."""

import socket

import pytest

from suite.backends.parallel.interfaces import interface_of, require_own_name


def test_the_loopback_interface_has_its_whole_network() -> None:
    assert interface_of("127.0.0.1") == interface_of("127.0.0.2") == "lo"
    with pytest.raises(ValueError, match=r"No network interface of this host has the address 198\.51\.100\.1"):
        interface_of("198.51.100.1")


def test_a_name_that_leads_elsewhere_is_refused() -> None:
    require_own_name(socket.gethostbyname(socket.gethostname()))
    with pytest.raises(ValueError, match=r"and JAX would listen there\. Use containers") as refused:
        require_own_name("198.51.100.1")
    assert "198" not in str(refused.value)
