"""The list is written once, from classes made by the rule, and read again as it was written."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from studies.record import write
from studies.regressions.freeze import choose, freeze
from studies.regressions.pairs import read_frozen
from studies.regressions.record import Classes, Process
from studies.regressions.rule import PROCESSES, Class
from studies.tests.regressions.outcomes import measured
from suite.errors import LevelfieldError
from suite.machine.fingerprint import fingerprint

KINDS = {
    "a": Class.SLOWER,
    "b": Class.UNCHANGED,
    "c": Class.UNDECIDED,
    "d": Class.FASTER,
    "e": Class.UNCHANGED,
    "f": Class.SLOWER,
}


def _classes(processes: int) -> Classes:
    ran = tuple(Process(side, 1000.0, 10) for side in ("old", "new") for _ in range(processes))
    pairs = tuple(msgspec.structs.replace(measured(name, kind), processes=ran) for name, kind in KINDS.items())
    return Classes(
        schema=Classes.SCHEMA,
        started="2026-11-24T00:00:00Z",
        updated="2026-11-24T00:00:00Z",
        tool_version="0",
        seed=1,
        settings={},
        machine=fingerprint((0,)),
        load_before=(0.0, 0.0, 0.0),
        load_after=(0.0, 0.0, 0.0),
        pairs=pairs,
    )


def test_as_many_of_each_kind_in_the_order_of_the_list() -> None:
    pairs = _classes(PROCESSES).pairs
    assert [each.name for each in choose(pairs)] == ["a", "d", "b", "e"]
    unmeasured = msgspec.structs.replace(pairs[0], found=None, problem="it failed")
    assert [each.name for each in choose((unmeasured, *pairs[1:]))] == ["d", "f", "b", "e"]
    with pytest.raises(LevelfieldError, match="not both"):
        choose(pairs[:1])


def test_it_is_read_as_it_was_written_and_never_written_again(tmp_path: Path) -> None:
    classes, out = tmp_path / "classes.json", tmp_path / "frozen.toml"
    write(_classes(PROCESSES), classes)
    found = freeze(classes, out)
    assert read_frozen(out) == found
    assert found.record_sha256 == hashlib.sha256(classes.read_bytes()).hexdigest()
    assert found.pair[0].class_ is Class.SLOWER
    with pytest.raises(LevelfieldError, match="frozen already"):
        freeze(classes, out)


def test_fewer_processes_than_the_rule_asks_for_do_not_do(tmp_path: Path) -> None:
    classes, out = tmp_path / "classes.json", tmp_path / "frozen.toml"
    write(_classes(PROCESSES - 1), classes)
    with pytest.raises(LevelfieldError, match="fewer than 20 processes"):
        freeze(classes, out)
    assert not out.exists()
