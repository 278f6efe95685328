"""Where the records of a fleet are found, and how they are read: what is wrong with one costs only that one."""

import os
from pathlib import Path

import pytest

from levelfield.analysis.summary import Reduced
from levelfield.compare.sides import load
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield_fleet import records
from levelfield_fleet.records import Place, Unread, read, read_all
from tests.fleet.samples import place, small


def touch(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"{}")


def test_both_ways_to_lay_records_out(tmp_path: Path) -> None:
    touch(tmp_path / "b" / files.NAME)
    touch(tmp_path / "a" / "run-2" / files.NAME)
    touch(tmp_path / "a" / "run-1" / files.NAME)
    touch(tmp_path / "fleet.html")
    touch(tmp_path / ".hidden" / files.NAME)
    found = records.find(tmp_path)
    assert found.nodes == ("a", "b")
    assert [place.name for place in found.places] == ["a/run-1", "a/run-2", "b"]
    assert [place.record for place in found.places][2] == tmp_path / "b" / files.NAME
    assert found.notes == ()


def test_a_node_without_a_record_is_still_a_node(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    touch(tmp_path / "cut" / "run" / files.JOURNAL)
    found = records.find(tmp_path)
    assert found.nodes == ("cut", "empty")
    assert found.places == ()
    assert "cut/run was cut off before its record was written" in found.notes[0]
    assert found.notes[1:] == ("cut has no record.", "empty has no record.")


def test_links_are_named_and_not_followed(tmp_path: Path) -> None:
    touch(tmp_path / "elsewhere" / files.NAME)
    fleet = tmp_path / "fleet"
    touch(fleet / "good" / "run" / files.NAME)
    (fleet / "linked").symlink_to(tmp_path / "elsewhere")
    (fleet / "good" / "again").symlink_to(tmp_path / "elsewhere")
    found = records.find(fleet)
    assert [place.name for place in found.places] == ["good/run"]
    assert found.notes == (
        "linked is a link, and no link is followed.",
        "good/again is a link, and no link is followed.",
    )


def test_names_that_look_alike_are_one_node_only(tmp_path: Path) -> None:
    for name in ("a\x1bb", "a\x07b", "x" * 100 + "1", "x" * 100 + "2"):
        touch(tmp_path / name / files.NAME)
    found = records.find(tmp_path)
    assert len(found.nodes) == len(set(found.nodes)) == 2
    assert len(found.notes) == 2
    assert all("only the first is read" in note for note in found.notes)


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/node\xff\xfe"
    os.mkdir(folder)  # noqa: PTH102  (bytes)
    with open(folder + b"/" + files.NAME.encode(), "wb"):  # noqa: PTH123
        pass
    (name,) = records.find(tmp_path).nodes
    name.encode()
    assert name.startswith("node")


@pytest.mark.parametrize("what", ["missing", "empty", "file"])
def test_a_folder_that_is_none_is_one_sentence(tmp_path: Path, what: str) -> None:
    folder = tmp_path / what
    if what == "empty":
        folder.mkdir()
    elif what == "file":
        folder.touch()
    with pytest.raises(LevelfieldError) as caught:
        records.find(folder)
    assert caught.value.exit_code == 2


def test_a_fleet_has_a_most_of_nodes_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        touch(tmp_path / "a" / f"run-{number}" / files.NAME)
        (tmp_path / f"b-{number}").mkdir()
    monkeypatch.setattr(records, "MOST_RUNS", 2)
    found = records.find(tmp_path)
    assert [place.folder.name for place in found.places] == ["run-2", "run-3"]
    assert "a has 4 runs: only the last 2 by name are read." in found.notes
    monkeypatch.setattr(records, "MOST_NODES", 4)
    with pytest.raises(LevelfieldError, match="more than 4 folders"):
        records.find(tmp_path)


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

    monkeypatch.setattr("levelfield_fleet.records.sides.from_content", fails)
    found = read(Place("node", folder))
    assert isinstance(found, Unread)
    assert found.reason == "node cannot be analysed: TypeError: an operand of the wrong type."


def test_many_are_read_in_processes_of_their_own_and_come_in_order(tmp_path: Path) -> None:
    names = [(f"node-{number}", f"run-{number}") for number in range(records.FEW + 3)]
    places = [Place(node, place(small(run), tmp_path / node)) for node, run in names]
    places[4].record.write_bytes(b"damaged")
    found = list(read_all(places))
    assert [each.facts.id if isinstance(each, Reduced) else "" for each in found] == [
        "" if number == 4 else f"run-{number}" for number in range(len(places))
    ]
    assert found[5] == read(places[5])
