"""Where the records of a fleet are found, and how they are read: what is wrong with one costs only that one."""

import os
from pathlib import Path

import pytest

from levelfield.analysis.summary import Reduced
from levelfield.compare.sides import load
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield_fleet import records
from levelfield_fleet.gather import gather
from levelfield_fleet.records import Place, Unread, read, read_all
from tests.fleet.samples import place, small
from tests.unprivileged import ordinary_user


def touch(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"{}")


def test_both_ways_to_lay_records_out_and_what_is_passed_over(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    for name in ("b", "a/run-2", "a/run-1", ".hidden", "../elsewhere"):
        touch(fleet / name / files.NAME)
    touch(fleet / "fleet.html")
    (fleet / "empty").mkdir()
    touch(fleet / "cut" / "run" / files.JOURNAL)
    (fleet / "linked").symlink_to(tmp_path / "elsewhere")
    (fleet / "a" / "again").symlink_to(tmp_path / "elsewhere")
    found = records.find(fleet)
    assert found.nodes == ("a", "b", "cut", "empty", "linked")
    assert [place.name for place in found.places] == ["a/run-1", "a/run-2", "b"]
    assert found.places[2].record == fleet / "b" / files.NAME
    assert found.notes == (
        "a/again is a link, and no link is followed.",
        "cut/run was cut off before its record was written; `bench --resume` on the node finishes it.",
        "cut has no record.",
        "empty has no record.",
        "linked is a link, and no link is followed.",
    )


def test_a_run_that_may_not_be_looked_into_is_named(tmp_path: Path) -> None:
    place(small("seen"), tmp_path / "a" / "run-1")
    place(small("hidden", 2), tmp_path / "a" / "run-2").chmod(0)
    place(small("other", 3), tmp_path / "b").chmod(0)
    with ordinary_user():
        notes = gather(tmp_path).notes
    assert notes == ("a/run-2 cannot be read: Permission denied.", "b cannot be read: Permission denied.")


def test_names_that_look_alike_are_shown_so_that_each_is_told_apart(tmp_path: Path) -> None:
    pod = "a-training-job-with-a-long-name-of-its-own-in-a-namespace-of-a-cluster-worker-"
    names = ["a\x1bb", "a\x07b", f"{pod}1", f"{pod}2"]
    for name in names:
        touch(tmp_path / name / files.NAME)
    shown = records.find(tmp_path).nodes
    assert [name[-10:-9] for name in shown[2:]] == ["1", "2"]
    for name in shown:
        touch(tmp_path / name / files.NAME)
    found = records.find(tmp_path)
    assert len(found.nodes) == len(set(found.nodes)) == len(found.places) == 8, "also where one takes another's"
    assert found.notes == ()
    assert set(shown) <= set(found.nodes)
    assert sum(len(name) > records.LONGEST_NAME for name in found.nodes) == 4


def test_a_folder_with_more_entries_than_a_fleet_has_is_never_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/run-1", "a/run-2", "a/run-3", "b"):
        touch(tmp_path / name / files.NAME)
    monkeypatch.setattr(records, "_MOST_ENTRIES", 2)
    assert records.find(tmp_path).notes == ("a cannot be read: it has more than 2 entries.",)
    touch(tmp_path / "c" / files.NAME)
    with pytest.raises(LevelfieldError, match="cannot be read: it has more than 2 entries"):
        records.find(tmp_path)


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/node\xff\xfe"
    os.mkdir(folder)  # noqa: PTH102  (bytes)
    (name,) = records.find(tmp_path).nodes
    name.encode()
    assert name.startswith("node")


@pytest.mark.parametrize("what", ["missing", "empty", "file"])
def test_a_folder_that_is_none_is_one_sentence(tmp_path: Path, what: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(LevelfieldError) as caught:
        records.find(tmp_path / what)
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


def unread(folder: Path) -> str:
    found = read(Place("node", folder))
    assert isinstance(found, Unread)
    return found.reason


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "node is not a record"),
        (b"[" * 100_000, "node is not a record"),
        (b'{"schema": 99}', "node has schema 99"),
        (b'{"schema": 1}', "node does not follow the schema"),
    ],
)
def test_what_is_no_record_is_one_sentence_by_its_node(tmp_path: Path, content: bytes, says: str) -> None:
    folder = tmp_path / "node"
    touch(folder / files.NAME)
    (folder / files.NAME).write_bytes(content)
    reason = unread(folder)
    assert reason.startswith(says)
    assert str(tmp_path) not in reason


@pytest.mark.parametrize("kind", ["pipe", "device", "link", "folder", "secret", "long"])
def test_what_is_no_plain_file_of_a_fair_size_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    record = tmp_path / "node" / files.NAME
    record.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(record)
    elif kind == "folder":
        record.mkdir()
    elif kind == "long":
        record.touch()
        os.truncate(record, 1 << 40)
    else:
        target = place(small("one"), tmp_path / "there") / files.NAME
        record.symlink_to({"device": "/dev/zero", "link": str(target), "secret": "/etc/shadow"}[kind])
    assert ("node is longer than" if kind == "long" else "cannot be read") in unread(record.parent)


def test_a_defect_that_a_record_meets_costs_that_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(content: bytes, name: str) -> Reduced:
        raise TypeError("an operand of the wrong type")

    monkeypatch.setattr("levelfield_fleet.records.sides.from_content", fails)
    folder = place(small("one"), tmp_path / "node")
    assert unread(folder) == "node cannot be analysed: TypeError: an operand of the wrong type."


def test_many_are_read_in_processes_of_their_own_and_come_in_order(tmp_path: Path) -> None:
    names = [f"run-{number}" for number in range(records.FEW + 3)]
    places = [Place(name, place(small(name), tmp_path / name)) for name in names]
    places[4].record.write_bytes(b"damaged")
    found = list(read_all(places))
    assert isinstance(found[4], Unread)
    assert found[:4] + found[5:] == [load(place.record) for place in places[:4] + places[5:]]
