"""The controls of earlier runs, as far as they speak of this machine."""

from pathlib import Path

import msgspec

from levelfield.history import controls, summary
from levelfield.paths import installation_key
from levelfield.record.schema import Fingerprint, Run
from tests.history.many import at, small_run, write_run


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
    found = controls.before(tmp_path, machine())
    assert [draw.run for draw in found] == ["run-3", "run-2", "run-1"]
    assert {(draw.arm, draw.case) for draw in found} == {("onnxruntime", "mlp/latency/fp32/b1/t2/cpu")}
    assert all(draw.low is not None and draw.low < draw.ratio for draw in found)


def test_labelled_runs_and_strange_folders_have_no_say(tmp_path: Path) -> None:
    write_run(run(1, labels=("injected",)), tmp_path / "run-1")
    write_run(run(2), tmp_path / "run-2")
    (tmp_path / "run-2" / summary.NAME).write_text("rubbish")
    (tmp_path / "empty").mkdir()
    assert controls.before(tmp_path, machine()) == ()
    assert controls.before(tmp_path / "nowhere", machine()) == ()


def test_a_copy_of_a_run_counts_once(tmp_path: Path) -> None:
    write_run(run(1), tmp_path / "run-1")
    write_run(run(1), tmp_path / "copy")
    assert len(controls.before(tmp_path, machine())) == 1


def test_a_record_holds_so_many_and_no_more(tmp_path: Path) -> None:
    made = write_run(run(1), tmp_path / "run-1")
    many = msgspec.structs.replace(made, controls=made.controls * (controls.MOST + 5))
    many = summary.sealed(many, installation_key())
    summary.write(many, tmp_path / "run-1")
    assert len(controls.before(tmp_path, machine())) == controls.MOST


def test_what_was_copied_into_the_folder_does_not_count(tmp_path: Path) -> None:
    """A stranger can make a record of this very machine, and a summary with the right digest; not the seal."""
    made = write_run(run(1), tmp_path / "run-1")
    foreign = write_run(run(2), tmp_path / "run-2")
    summary.write(summary.sealed(foreign, b"another installation's"), tmp_path / "run-2")
    assert [draw.run for draw in controls.before(tmp_path, machine())] == ["run-1"]
    bent = tuple(msgspec.structs.replace(draw, ratio=0.5) for draw in made.controls)
    summary.write(msgspec.structs.replace(made, controls=bent), tmp_path / "run-1")
    assert controls.before(tmp_path, machine()) == ()


def test_a_ratio_that_no_run_has_does_not_count(tmp_path: Path) -> None:
    made = write_run(run(1), tmp_path / "run-1")
    for ratio in (-1.0, 0.0, 1e9):
        bent = tuple(msgspec.structs.replace(draw, ratio=ratio) for draw in made.controls)
        summary.write(
            summary.sealed(msgspec.structs.replace(made, controls=bent), installation_key()), tmp_path / "run-1"
        )
        assert controls.before(tmp_path, machine()) == ()
