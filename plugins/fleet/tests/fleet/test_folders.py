"""Where the records of a fleet are found, and what is passed over."""

import os
from pathlib import Path

import pytest
from levelfield_fleet import folders

from levelfield.errors import LevelfieldError
from levelfield.record import files


def touch(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"{}")


def test_both_ways_to_lay_records_out(tmp_path: Path) -> None:
    touch(tmp_path / "b" / files.NAME)
    touch(tmp_path / "a" / "run-2" / files.NAME)
    touch(tmp_path / "a" / "run-1" / files.NAME)
    touch(tmp_path / "fleet.html")
    touch(tmp_path / ".hidden" / files.NAME)
    found = folders.find(tmp_path)
    assert found.nodes == ("a", "b")
    assert [place.name for place in found.places] == ["a/run-1", "a/run-2", "b"]
    assert [place.record for place in found.places][2] == tmp_path / "b" / files.NAME
    assert found.notes == ()


def test_a_node_without_a_record_is_still_a_node(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    touch(tmp_path / "cut" / "run" / files.JOURNAL)
    found = folders.find(tmp_path)
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
    found = folders.find(fleet)
    assert [place.name for place in found.places] == ["good/run"]
    assert found.notes == (
        "linked is a link, and no link is followed.",
        "good/again is a link, and no link is followed.",
    )


def test_names_that_look_alike_are_one_node_only(tmp_path: Path) -> None:
    for name in ("a\x1bb", "a\x07b", "x" * 100 + "1", "x" * 100 + "2"):
        touch(tmp_path / name / files.NAME)
    found = folders.find(tmp_path)
    assert len(found.nodes) == len(set(found.nodes)) == 2
    assert len(found.notes) == 2
    assert all("only the first is read" in note for note in found.notes)


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/node\xff\xfe"
    os.mkdir(folder)  # noqa: PTH102  (bytes)
    with open(folder + b"/" + files.NAME.encode(), "wb"):  # noqa: PTH123
        pass
    (name,) = folders.find(tmp_path).nodes
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
        folders.find(folder)
    assert caught.value.exit_code == 2


def test_a_fleet_has_a_most_of_nodes_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        touch(tmp_path / "a" / f"run-{number}" / files.NAME)
        (tmp_path / f"b-{number}").mkdir()
    monkeypatch.setattr(folders, "MOST_RUNS", 2)
    found = folders.find(tmp_path)
    assert [place.folder.name for place in found.places] == ["run-2", "run-3"]
    assert "a has 4 runs: only the last 2 by name are read." in found.notes
    monkeypatch.setattr(folders, "MOST_NODES", 4)
    with pytest.raises(LevelfieldError, match="more than 4 folders"):
        folders.find(tmp_path)
