"""Hosts as they are typed, and the file with the key that they share."""

from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.hosts.addresses import parse, read_key


def test_an_address_and_a_port() -> None:
    assert parse("127.0.0.1:7450") == ("127.0.0.1", 7450)
    assert parse("localhost:1") == ("127.0.0.1", 1)


@pytest.mark.parametrize(
    "text", ["", "host", ":1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:x", "::1:80", "a b:1", "\x1b:1"]
)
def test_what_names_no_host_is_refused(text: str) -> None:
    with pytest.raises(LevelfieldError, match=r"names no host and port|There is no IPv4 address of"):
        parse(text)


def test_a_key_is_its_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read_key(path)
    path.write_text(f"{'AB' * 32}\n")
    path.chmod(0o640)
    with pytest.raises(LevelfieldError, match="Others than its owner may read the key") as refused:
        read_key(path)
    assert refused.value.fix == f"chmod 600 {path}"
    path.chmod(0o600)
    assert read_key(path) == "ab" * 32
    path.write_text("short")
    with pytest.raises(LevelfieldError, match="holds no key of 64 hexadecimal digits"):
        read_key(path)
