"""The verdict on a fleet for programs."""

import json as plain_json

import msgspec
from levelfield_fleet.formats import json
from levelfield_fleet.types import Fleet
from tests.fleet.samples import fleet, hostile


def test_it_can_be_read_back() -> None:
    for verdict in (fleet(), hostile()):
        written = json.write(verdict)
        assert list(plain_json.loads(written))[:3] == ["answer", "exit_code", "format"]
    assert msgspec.json.decode(json.write(fleet()), type=Fleet) == fleet()


def test_a_part_is_a_line() -> None:
    lines = json.write(fleet()).splitlines()
    assert len(lines) > len(fleet().cells) + len(fleet().nodes)
