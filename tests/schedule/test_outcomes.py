"""What came of launches, and how their workers end."""

import threading
import time
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.schema import Arm, Case, Launch
from levelfield.schedule import outcomes
from levelfield.schedule.outcomes import Outcome, end_workers
from tests.launchers.scripts import NEXT, PATIENCE_S, READY, gone, worker

LEAVES = """
import pathlib, time
folder = pathlib.Path({folder!r})
(folder / "{own}-asked").touch()
while not (folder / "{other}-asked").exists():
    time.sleep(0.01)
(folder / "{own}-left").touch()
"""


def test_all_are_asked_to_end_before_one_is_waited_for(tmp_path: Path) -> None:
    case = Case("mlp", "latency", "fp32", 1, 2)
    outcomes = []
    for own, other in (("one", "another"), ("another", "one")):
        script = READY + NEXT + LEAVES.format(folder=str(tmp_path), own=own, other=other)
        outcomes.append(Outcome(Arm(own, "jax"), case, Launch(arm=own, started=""), worker(script)))
    workers = [outcome.worker for outcome in outcomes if outcome.worker is not None]
    for each in workers:
        each.await_ready(PATIENCE_S)
    end_workers(outcomes)
    assert (tmp_path / "one-left").exists(), "it ended by itself, and needed the other's request for it"
    assert (tmp_path / "another-left").exists()
    assert all(each.pid is not None and gone(each.pid) for each in workers)
    assert [outcome.worker for outcome in outcomes] == [None, None]
    end_workers(outcomes)


def test_an_error_is_reported_while_others_still_work() -> None:
    going = threading.Event()
    began: list[str] = []

    def fail() -> None:
        raise LevelfieldError("The disk is full.", fix="Free some space.")

    def wait() -> None:
        began.append("wait")
        going.wait(30)

    begin = time.monotonic()
    with pytest.raises(LevelfieldError, match="disk is full"):
        outcomes.run_jobs([wait, fail, lambda: began.append("too late")], at_once=2)
    assert time.monotonic() - begin < 20
    going.set()
    time.sleep(0.5)
    assert "too late" not in began
