"""What a node costs the head: slopes of what was counted, and the check of a record that is there."""

from pathlib import Path

import msgspec

from studies.fleet_head import Check, HeadRun, Record, check, largest_record, markdown
from suite.record import files
from tests.fleet.run.fleets import record

FEW = HeadRun(nodes=1, processor_s=2.0, largest_resident_bytes=100_000_000, wall_s=10.0, record_bytes=1)
MANY = HeadRun(nodes=5, processor_s=3.0, largest_resident_bytes=140_000_000, wall_s=50.0, record_bytes=5)
FOUND = Record(
    schema=1,
    started="",
    tool_version="",
    machine={},
    finished="",
    ray="2.55.1",
    runs=(FEW, MANY),
    check=Check("run", 7_000_000, 7_500_000, 0.5, 30_000_000),
)


def leave(reports: Path, **changes: object) -> Path:
    run = record(**changes)
    (reports / run.id).mkdir(parents=True)
    files.write(run, reports / run.id)
    return reports / run.id


def test_what_each_further_node_adds_is_the_slope() -> None:
    assert FOUND.processor_s_each == 0.25
    assert FOUND.resident_bytes_each == 10_000_000
    assert "| 0.25 s |" in markdown(FOUND)
    assert "| 10.0 MB |" in markdown(FOUND)


def test_a_record_is_checked_and_kept_as_from_a_node(tmp_path: Path) -> None:
    run = leave(tmp_path / "reports")
    found = check(run, tmp_path / "kept", times=1)
    assert found.reply_bytes > found.record_bytes == (run / files.NAME).stat().st_size
    assert found.largest_allocated_bytes > found.reply_bytes
    assert (tmp_path / "kept" / "node-01" / run.name / files.NAME).read_bytes() == (run / files.NAME).read_bytes()


def test_the_largest_record_is_found(tmp_path: Path) -> None:
    leave(tmp_path, id="small", blocks=())
    large = leave(tmp_path, id="large")
    assert largest_record(tmp_path) == large


def test_the_record_can_be_read_again() -> None:
    assert msgspec.json.decode(msgspec.json.encode(FOUND), type=Record) == FOUND
