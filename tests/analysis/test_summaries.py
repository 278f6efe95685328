"""Folders of runs: what is read of them, and what is named and left out."""

from pathlib import Path

import msgspec
import pytest

from levelfield.analysis import summaries
from levelfield.compare.trend import in_order
from levelfield.paths import installation_key
from levelfield.record import files
from levelfield.record.schema import Fingerprint, Run
from tests.analysis.many import at, name, small_run, write_run
from tests.records_builder import kept


def fill(reports: Path, days: int, *, summarised: bool = True) -> None:
    for day in range(days):
        run = msgspec.structs.replace(small_run(seed=day), id=name(day), started=at(day))
        write_run(run, reports / run.id, summarised=summarised)


class Read:
    """A folder that was read."""

    def __init__(self, reports: Path) -> None:
        reports.mkdir(exist_ok=True)
        self.analysed: list[str] = []
        self.summaries, skipped = summaries.read_all(reports, self.analysed.append, lambda *_: None)
        self.runs = list(in_order(self.summaries))
        self.skipped = {one.folder: one.reason for one in skipped}


@pytest.mark.parametrize("summarised", [True, False])
def test_a_run_without_a_summary_is_analysed_once(reports: Path, summarised: bool) -> None:
    fill(reports, 3, summarised=summarised)
    found = Read(reports)
    assert (len(found.analysed), found.skipped) == (0 if summarised else 3, {})
    assert found.runs == [name(0), name(1), name(2)]
    again = Read(reports)
    assert (again.analysed, again.runs) == ([], found.runs)


def test_no_summary_of_another_record_is_believed(reports: Path) -> None:
    fill(reports, 2)
    record = reports / name(1) / files.NAME
    record.write_bytes(record.read_bytes().replace(b'"tool_version":"0.1.0"', b'"tool_version":"0.1.1"'))
    assert Read(reports).analysed == [f"analysing {name(1)} (2 of 2)"]


def test_a_stranger_s_summary_overrides_no_record(reports: Path) -> None:
    """It has the right digest and size, and figures of its own; what was made here of a record is no measurement."""
    fill(reports, 1)
    (true,) = Read(reports).summaries
    bent = tuple(
        msgspec.structs.replace(one, estimate=one.estimate / 1000 if one.estimate else None) for one in true.results
    )
    for seal in ("", summaries.sealed(true, b"another installation's").seal, true.seal):
        summaries.write(msgspec.structs.replace(true, results=bent, seal=seal), reports / name(0))
        found = Read(reports)
        assert (len(found.analysed), found.summaries[0].results) == (1, true.results)
    made_here = summaries.kept(reports / name(0))
    assert made_here is not None
    assert not summaries.is_own(made_here, installation_key())
    assert Read(reports).analysed == []


def test_nothing_is_written_through_a_stranger_s_link(reports: Path) -> None:
    fill(reports, 1, summarised=False)
    place = reports / name(0) / summaries.NAME
    place.symlink_to("/dev/full")
    assert (Read(reports).skipped, place.is_symlink()) == ({}, False)
    assert summaries.kept(place.parent)


def test_broken_records_are_named_and_the_others_read(reports: Path) -> None:
    fill(reports, 2)
    for folder, content in {
        "cut": (reports / name(0) / files.NAME).read_bytes()[:1000],
        "newer": b'{"schema": 99}',
        "empty": b"",
        "deep": b"[" * 100_000,
    }.items():
        (reports / folder).mkdir()
        (reports / folder / files.NAME).write_bytes(content)
    (reports / "folder").mkdir()
    (reports / "folder" / files.NAME).mkdir()
    kept(msgspec.structs.replace(small_run(), id="late", started="some day"), reports / "late")
    found = Read(reports)
    assert found.runs == [name(0), name(1)]
    assert set(found.skipped) == {"cut", "newer", "empty", "deep", "folder", "late"}
    assert "schema 99" in found.skipped["newer"]
    assert "no time" in found.skipped["late"]


def test_a_copy_of_a_run_counts_once(reports: Path) -> None:
    fill(reports, 1)
    (reports / name(0)).rename(reports / "before-the-upgrade")
    fill(reports, 1)
    found = Read(reports)
    assert (found.runs, found.skipped) == ([name(0)], {})


def test_a_stranger_does_not_take_the_place_of_a_run(reports: Path) -> None:
    fill(reports, 1)
    stranger = msgspec.structs.replace(small_run(seed=5, generations=6), id=name(0), started=at(0))
    write_run(stranger, reports / "a-stranger")
    write_run(stranger, reports / "0-stranger")
    found = Read(reports)
    assert list(found.skipped) == ["0-stranger", "a-stranger"]
    assert found.summaries == (summaries.kept(reports / name(0)),)


def test_a_run_taken_up_again_is_analysed_again(reports: Path) -> None:
    fill(reports, 1)
    longer = msgspec.structs.replace(small_run(seed=0, generations=7), id=name(0), started=at(0))
    files.write(longer, reports / name(0))
    found = Read(reports)
    assert (len(found.analysed), found.runs) == (1, [name(0)])


def run(number: int, **changes: object) -> Run:
    made = small_run(control="onnxruntime", scenarios=("latency",), seed=number)
    return msgspec.structs.replace(made, id=f"run-{number}", started=at(number), **changes)


def machine() -> Fingerprint:
    return run(1).machine


def test_newest_first_and_only_of_this_machine(tmp_path: Path) -> None:
    for number in (2, 1, 3):
        write_run(run(number), tmp_path / f"run-{number}")
    other = dict(machine())
    other["cpu"] = {**other["cpu"], "model": "Another CPU"}
    write_run(run(4, machine=other), tmp_path / "run-4")
    found = summaries.controls_before(tmp_path, machine())
    assert [draw.run for draw in found] == ["run-3", "run-2", "run-1"]
    assert {(draw.arm, draw.case) for draw in found} == {("onnxruntime", "mlp/latency/fp32/b1/t2/cpu")}
    assert all(draw.low is not None and draw.low < draw.ratio for draw in found)


def test_labelled_runs_and_strange_folders_have_no_say(tmp_path: Path) -> None:
    write_run(run(1, labels=("injected",)), tmp_path / "run-1")
    write_run(run(2), tmp_path / "run-2")
    (tmp_path / "run-2" / summaries.NAME).write_text("rubbish")
    (tmp_path / "empty").mkdir()
    assert summaries.controls_before(tmp_path, machine()) == ()
    assert summaries.controls_before(tmp_path / "nowhere", machine()) == ()


def test_what_was_copied_into_the_folder_does_not_count(tmp_path: Path) -> None:
    """A stranger can make a record of this very machine, and a summary with the right digest; not the seal."""
    made = write_run(run(1), tmp_path / "run-1")
    foreign = write_run(run(2), tmp_path / "run-2")
    summaries.write(summaries.sealed(foreign, b"another installation's"), tmp_path / "run-2")
    assert [draw.run for draw in summaries.controls_before(tmp_path, machine())] == ["run-1"]
    bent = tuple(msgspec.structs.replace(draw, ratio=0.5) for draw in made.controls)
    summaries.write(msgspec.structs.replace(made, controls=bent), tmp_path / "run-1")
    assert summaries.controls_before(tmp_path, machine()) == ()
