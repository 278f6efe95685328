import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import guarded
from levelfield.imported import making, reading
from levelfield.imported.types import NO_DATE, Recorded, Result, Timed
from levelfield.record.schema import Absent, Run
from tests.imported.recorded import FOLDER

NOW = "2026-01-02T03:04:05Z"


def make(found: Recorded) -> Run:
    run = making.make(found, sha256="ab" * 32, now=NOW, tool_sha256="", command=("levelfield", "import"))
    return guarded.decode(msgspec.json.encode(run), "it")


def test_a_process_is_a_launch_and_a_loop_is_a_sample() -> None:
    found, _ = reading.read(FOLDER / "pyperf-2.11.0-1.json")
    run = make(found)
    assert run.imported is not None
    assert run.imported.tool == "pyperf"
    assert (run.id, run.started) == ("20261126-051908-imported-abababab", "2026-11-26T05:19:08Z")
    block = analysis.analyse(run).timed[1]
    (row,) = block.rows
    assert block.case.id == "dict lookup/latency/unknown"
    assert (row.standing, row.counts.launches) == ("shown", 5)
    assert row.counts.calls == sum(sample.calls for launch in found.results[1].launches for sample in launch)
    assert row.call_ns is not None
    assert row.call_ns.value % 1, "it is not rounded to whole nanoseconds of a call"
    assert row.cpu_cores is None


def test_a_rate_is_that_of_the_file() -> None:
    found, _ = reading.read(FOLDER / "loadgen-6.0.17-offline.txt")
    (block,) = analysis.analyse(make(found)).timed
    (row,) = block.rows
    assert row.items_per_second is not None
    assert row.items_per_second.value == pytest.approx(619.195)


def test_what_failed_or_has_no_times_is_no_result() -> None:
    found = Recorded(
        "x", NO_DATE, (Result("a", ((Timed(5),),), failure="it broke"), Result("b", ()), Result("b", ((Timed(7),),)))
    )
    run = make(found)
    assert run.started == NOW
    assert run.imported is not None
    assert isinstance(run.imported.recorded, Absent)
    rows = {block.case.model: block.rows[0] for block in analysis.analyse(run).timed}
    assert [(name, row.standing, row.reason) for name, row in rows.items()] == [
        ("a", "failed", "it broke"),
        ("b", "failed", "the file holds no time of it"),
        ("b (2)", "shown", "its output was not compared with the reference"),
    ]
