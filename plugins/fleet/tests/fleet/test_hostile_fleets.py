"""A stranger's record among honest ones, all the way: it is judged or named, and the others are judged as ever."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import levelfield_fleet
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield_fleet.formats import WRITERS
from levelfield_fleet.gather import gather, verdict
from tests.compare.test_hostile_records import HOSTILE, changed, places
from tests.fleet.samples import fill, small
from tests.report.hostile import PAYLOAD

PLAIN: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(small("stranger", 77)))
PLACES = list(places(PLAIN))
HONEST = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = fill(tmp_path_factory.mktemp("fleet"), HONEST)
    (place / "stranger").mkdir()
    return place


def through(folder: Path, content: bytes) -> None:
    (folder / "stranger" / files.NAME).write_bytes(content)
    found = verdict(gather(folder), margin=0.02, level=0.01)
    assert {node.name for node in found.nodes} == {*(f"node-{number}" for number in range(HONEST)), "stranger"}
    assert all(node.runs for node in found.nodes if node.name != "stranger")
    for write in WRITERS.values():
        written = write(found)
        assert "\x1b" not in written
        assert "\u202e" not in written
        assert written.encode()


@pytest.mark.extended
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), HOSTILE), min_size=1, max_size=6))
def test_a_changed_record_is_judged_or_named(folder: Path, changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    record = copy.deepcopy(PLAIN)
    for path, value in changes:
        changed(path, value, record)
    through(folder, msgspec.json.encode(record))


@pytest.mark.parametrize("value", [2**62, 1, -1, 0])
@pytest.mark.parametrize("name", ["samples_ns", "window_ns", "elapsed_ns"])
def test_extreme_numbers_everywhere_at_once(folder: Path, name: str, value: int) -> None:
    record = copy.deepcopy(PLAIN)
    for path in PLACES:
        if path[-1] == name:
            changed(path, [value] * 3 if name == "samples_ns" else value, record)
    through(folder, msgspec.json.encode(record))


def test_text_of_a_stranger_in_every_field(folder: Path) -> None:
    record = copy.deepcopy(PLAIN)
    fixed = {"scenario", "launcher", "stage", "kind", "type", "arm", "canary", "backend", "name", "variant", "model"}
    for path in PLACES:
        target: Any = record
        for key in path:
            target = target[key]
        if isinstance(target, str) and path[-1] not in fixed and "scenarios" not in path:
            changed(path, f"{target}{PAYLOAD}", record)
    through(folder, msgspec.json.encode(record))


def test_a_fleet_of_which_nothing_can_be_read_is_one_sentence(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / files.NAME).write_bytes(b"\x1b]0;x\x07")
    with pytest.raises(LevelfieldError, match="No record of any node can be read") as caught:
        verdict(gather(tmp_path), margin=0.02, level=0.01)
    assert caught.value.exit_code == 2


def test_nothing_is_evaluated() -> None:
    sources = list(Path(levelfield_fleet.__file__).parent.rglob("*.py"))
    assert len(sources) > 10
    for source in sources:
        text = source.read_text(encoding="utf-8")
        for word in ("pickle.", "marshal", "shelve", "eval(", "exec(", "yaml", "__import__"):
            assert word not in text, f"{word} in {source.name}"
