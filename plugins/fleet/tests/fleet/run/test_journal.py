"""The folders of fleets: made once, read with care."""

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from levelfield.errors import LevelfieldError
from levelfield.record.files import JOURNAL
from levelfield_fleet.run import head, journal
from levelfield_fleet.run.journal import FORMAT, Event
from levelfield_fleet.run.state import load
from tests.fleet.run.fleets import begun, lines, seen


def write(reports: Path, events: list[Event]) -> Path:
    path = journal.folder("night", reports) / JOURNAL
    path.parent.mkdir(parents=True)
    path.write_bytes(lines(events))
    return path


def test_a_fleet_is_made_once(tmp_path: Path) -> None:
    journal.create(begun(), tmp_path)
    assert msgspec.structs.replace(load("night", tmp_path).begun, seal="") == begun()
    with pytest.raises(LevelfieldError, match="There is a fleet called night already") as caught:
        journal.create(begun(seed=1), tmp_path)
    assert "--resume night" in caught.value.fix


def test_another_installation_does_not_go_on(tmp_path: Path) -> None:
    """Its words would say where workers run on every node."""
    journal.create(begun(), tmp_path)
    path = journal.folder("night", tmp_path) / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"smoke"', b'"smoke","--launcher","host"'))
    with pytest.raises(LevelfieldError, match="The fleet night was not begun here, or was changed since"):
        head.conduct("night", tmp_path, "local:2", Console(quiet=True), head.Limits())


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [begun()])
    path.write_bytes(path.read_bytes().replace(f'"format":{FORMAT}'.encode(), b'"format":99,"later":[1]', 1))
    with pytest.raises(LevelfieldError, match="newer Levelfield: its journal has format 99"):
        load("night", tmp_path)


def test_a_torn_line_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, [begun(), seen(1), seen(2)])
    path.write_bytes(path.read_bytes()[:-20])
    assert list(load("night", tmp_path).nodes) == ["node-01"]


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", "..", "a/b", "a\nb", ".hidden"])
def test_a_node_outside_of_the_fleet_is_none(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, [begun(), seen(1)])
    path.write_bytes(path.read_bytes().replace(b'"node-01"', msgspec.json.encode(name)))
    with pytest.raises(LevelfieldError, match="damaged in line 2"):
        load("night", tmp_path)
