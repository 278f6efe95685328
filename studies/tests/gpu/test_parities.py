"""The errors of several runs, side by side."""

from pathlib import Path

import msgspec
import pytest

from studies.gpu import parities
from suite.errors import LevelfieldError
from suite.record import files
from suite.record.schema import Run
from tests.records_builder import make_run


def written(run: Run, folder: Path, name: str, driver: str = "580.159.04") -> Path:
    machine = {**run.machine, "gpu": {"driver": driver, "device 0 name": "NVIDIA H200"}}
    (folder / name).mkdir()
    files.write(msgspec.structs.replace(run, id=name, machine=machine), folder / name)
    return folder / name


def test_the_largest_error_of_all_launches_counts(tmp_path: Path) -> None:
    run = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency",), generations=2)
    wrong = make_run(
        models=("mlp",), backends=("torch", "jax"), scenarios=("latency",), generations=1, unequal=[("jax", "mlp")]
    )
    found = parities.collect([written(run, tmp_path, "first"), written(wrong, tmp_path, "second")])
    assert (found.gpu, found.driver, found.runs) == ("NVIDIA H200", "580.159.04", ("first", "second"))
    by_arm = {answer.arm: answer for answer in found.answers}
    assert set(by_arm) == {"torch", "jax"}, "the canary is no answer"
    assert (by_arm["torch"].equal, by_arm["torch"].launches) == (True, 3)
    assert (by_arm["jax"].equal, by_arm["jax"].launches) == (False, 3)
    assert by_arm["jax"].reason


def test_runs_of_two_machines_are_refused(tmp_path: Path) -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), generations=1)
    with pytest.raises(LevelfieldError, match="different GPUs or drivers"):
        parities.collect([written(run, tmp_path, "first"), written(run, tmp_path, "second", "590.48.01")])
