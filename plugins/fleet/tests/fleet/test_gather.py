"""From a folder of records to the verdict on a fleet."""

import os
from pathlib import Path
from shutil import copytree

import msgspec
import pytest

from levelfield.record import page
from levelfield_fleet.formats import WRITERS
from levelfield_fleet.gather import NO_RECORD, gather, verdict
from levelfield_fleet.types import NodeVerdict
from tests.fleet.samples import fill, place, small


def test_runs_are_collected_by_node_the_oldest_first(tmp_path: Path) -> None:
    late = msgspec.structs.replace(small("late", 2), started="2026-11-20T10:00:00Z")
    early = msgspec.structs.replace(small("early", 3), started="2026-11-19T10:00:00Z")
    place(late, tmp_path / "a" / "1")
    place(early, tmp_path / "a" / "2")
    place(small("other", 4), tmp_path / "b")
    (tmp_path / "a" / "1" / page.NAME).touch()
    (tmp_path / "a" / "2" / page.NAME).touch()
    (tmp_path / "b" / page.NAME).symlink_to("/etc/passwd")
    found = gather(tmp_path)
    assert {name: [run.facts.id for run in runs] for name, runs in found.nodes.items()} == {
        "a": ["early", "late"],
        "b": ["other"],
    }
    assert found.reports == {"a": "a/1/report.html"}
    assert found.notes == ()


def test_a_run_under_two_nodes_is_nobody_s(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    copytree(tmp_path / "node-0", tmp_path / "thief")
    found = gather(tmp_path)
    assert {name: len(runs) for name, runs in found.nodes.items()} == {
        "node-0": 0, "node-1": 1, "node-2": 1, "thief": 0,
    }  # fmt: skip
    assert found.notes == ("One run lies under 2 nodes and is left out, since it is not known whose: node-0, thief.",)


def test_a_run_that_was_edited_after_it_was_copied_is_still_found(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    place(msgspec.structs.replace(small("node-0-1", 1), labels=("mine",)), tmp_path / "thief")
    assert len(gather(tmp_path).notes) == 1


def test_a_run_that_was_renamed_after_it_was_copied_is_still_found(tmp_path: Path) -> None:
    for node, name in (("a", "one"), ("b", "two")):
        place(msgspec.structs.replace(small("any", 1, generations=5), id=name), tmp_path / node)
    assert gather(tmp_path).notes == ("One run lies under 2 nodes and is left out, since it is not known whose: a, b.",)


def test_two_runs_that_share_an_id_by_chance_are_two(tmp_path: Path) -> None:
    """Of a thousand nodes that begin in one second some draw the same 16 bits."""
    place(small("20261125-020000-standard-0f0f", 1), tmp_path / "a")
    place(small("20261125-020000-standard-0f0f", 2), tmp_path / "b")
    found = gather(tmp_path)
    assert sum(map(len, found.nodes.values())) == 2
    assert found.notes == ()


def test_a_run_twice_under_one_node_counts_once(tmp_path: Path) -> None:
    fill(tmp_path, 1, 2)
    copytree(tmp_path / "node-0" / "run-0", tmp_path / "node-0" / "run-9")
    found = gather(tmp_path)
    assert sum(map(len, found.nodes.values())) == 2
    assert found.notes == ("node-0/run-9 is node-0/run-0 a second time, and counts once.",)


@pytest.mark.parametrize("link", [False, True])
def test_a_node_without_a_record_is_never_fine(tmp_path: Path, *, link: bool) -> None:
    fill(tmp_path, 4)
    if link:
        (tmp_path / "node-9").symlink_to(place(small("far", 9), tmp_path.parent / f"{tmp_path.name}-far"))
    else:
        (tmp_path / "node-9").mkdir()
    found = verdict(gather(tmp_path), margin=0.02, level=0.01)
    (silent,) = [node for node in found.nodes if node.name == "node-9"]
    assert silent.verdict is NodeVerdict.UNDECIDED
    assert silent.reason == NO_RECORD
    assert found.exit_code in (1, 3)
    assert found.answer.endswith("Of node-9 no record can be read.")
    assert ("node-9 is a link, and no link is followed." if link else "node-9 has no record.") in found.notes
    for written in (write(found) for write in WRITERS.values()):
        assert "node-9" in written
    assert 'errors="1"' in WRITERS["junit"](found)


def test_a_report_whose_path_is_no_text_has_no_link(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    (tmp_path / "node-0" / page.NAME).touch()
    (tmp_path / "node-0").rename(tmp_path / os.fsdecode(b"node-\xff"))
    assert gather(tmp_path).reports == {}


@pytest.mark.parametrize(("slower", "code"), [({}, (0, 3)), ({"onnxruntime": 1.5}, (1,))])
def test_the_slow_node_is_named(tmp_path: Path, slower: dict[str, float], code: tuple[int, ...]) -> None:
    fill(tmp_path, 8, 5)
    for index in range(5):
        place(small(f"slow-{index}", 5000 + index, slower=slower), tmp_path / "node-slow" / f"run-{index}")
    found = verdict(gather(tmp_path), margin=0.02, level=0.01)
    assert found.exit_code in code
    slow = [node.name for node in found.nodes if node.verdict is NodeVerdict.SLOW]
    assert slow == (["node-slow"] if slower else [])
