"""Records of a fleet are read one by one; what is wrong with one costs only that one."""

import os
from pathlib import Path

import pytest

from levelfield.analysis.summary import Reduced
from levelfield.compare.sides import load
from levelfield.fleet import reading
from levelfield.fleet.folders import Place
from levelfield.fleet.reading import Unread, read, read_all
from levelfield.record import files
from tests.fleet.samples import place, small


def written(folder: Path, content: bytes) -> Place:
    made = Place("node", folder / "node")
    made.folder.mkdir()
    made.record.write_bytes(content)
    return made


def test_a_record_is_reduced_as_for_a_comparison(tmp_path: Path) -> None:
    folder = place(small("one"), tmp_path / "node")
    assert read(Place("node", folder)) == load(folder / files.NAME)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "node is not a record"),
        (b"\x00" * 1000, "node is not a record"),
        (b"[" * 100_000, "node is not a record"),
        (b'{"schema": 99}', "node has schema 99"),
        (b'{"schema": 1}', "node does not follow the schema"),
    ],
)
def test_what_is_no_record_is_one_sentence_by_its_node(tmp_path: Path, content: bytes, says: str) -> None:
    found = read(written(tmp_path, content))
    assert isinstance(found, Unread)
    assert found.reason.startswith(says)
    assert str(tmp_path) not in found.reason


@pytest.mark.parametrize("kind", ["pipe", "device", "link", "folder", "secret"])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    record = tmp_path / files.NAME
    if kind == "pipe":
        os.mkfifo(record)
    elif kind == "folder":
        record.mkdir()
    else:
        target = place(small("one"), tmp_path / "there") / files.NAME
        record.symlink_to({"device": "/dev/zero", "link": str(target), "secret": "/etc/shadow"}[kind])
    found = read(Place("node", tmp_path))
    assert isinstance(found, Unread)
    assert "cannot be read" in found.reason


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    where = written(tmp_path, b"")
    os.truncate(where.record, 1 << 40)
    found = read(where)
    assert isinstance(found, Unread)
    assert "node is longer than" in found.reason


def test_a_defect_that_a_record_meets_costs_that_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place(small("one"), tmp_path / "node")

    def fails(content: bytes, name: str) -> Reduced:
        raise TypeError("an operand of the wrong type")

    monkeypatch.setattr("levelfield.fleet.reading.sides.from_content", fails)
    found = read(Place("node", folder))
    assert isinstance(found, Unread)
    assert found.reason == "node cannot be analysed: TypeError: an operand of the wrong type."


def test_many_are_read_in_processes_of_their_own_and_come_in_order(tmp_path: Path) -> None:
    names = [(f"node-{number}", f"run-{number}") for number in range(reading.FEW + 3)]
    places = [Place(node, place(small(run), tmp_path / node)) for node, run in names]
    places[4].record.write_bytes(b"damaged")
    found = list(read_all(places))
    assert [each.facts.id if isinstance(each, Reduced) else "" for each in found] == [
        "" if number == 4 else f"run-{number}" for number in range(len(places))
    ]
    assert found[5] == read(places[5])
