"""A real worker fed from a dataset on disk, by a thread with NumPy: a model that only needs NumPy stands in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelfield.backends.protocol import Resident
from levelfield.worker.feeding import READY, Fed
from levelfield.worker.messages import Measure, Task
from levelfield.zoo import dataset, models

MODEL = models.get("mlp")
BATCH = 4


@pytest.fixture
def task(tmp_path: Path) -> Task:
    dataset.save(MODEL, tmp_path / "mlp.u8", 16)
    return Task("onnxruntime", "mlp", BATCH, 1, scenario="data-pipeline", dataset_path=str(tmp_path / "mlp.u8"))


@pytest.fixture
def fed(task: Task) -> Iterator[Fed]:
    def run(inputs: Any) -> Any:
        return inputs["features"].sum(axis=1)

    one = Fed(task, Resident(place=lambda inputs: inputs, run=run, fetch=lambda output: output))
    yield one
    one.close()


def test_its_first_answers_are_those_of_the_first_records(task: Task, fed: Fed) -> None:
    for number in range(6):  # over the end, and on from the beginning
        start = number * BATCH % 16
        wanted = dataset.batch(MODEL, Path(str(task.dataset_path)), start, BATCH)["features"].sum(axis=1)
        np.testing.assert_array_equal(np.asarray(fed.answer()), wanted)


def test_a_window_says_what_it_waited_within_its_samples(fed: Fed) -> None:
    measured = fed.measure(Measure(window_ns=5_000_000, min_calls=3, rewarm_calls=1))
    assert measured.waited_ns is not None
    assert 0 < measured.waited_ns <= sum(measured.samples_ns)
    assert len(measured.rewarm_ns) >= READY, "what lay ready is used up before the window"
    assert fed.settings["feed"] == "NumPy in a thread"


def test_an_error_in_the_thread_reaches_whoever_takes(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(records: dataset.Records) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(dataset, "decode", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        _ = [fed.answer() for _ in range(READY + 2)]  # what lay ready comes first
