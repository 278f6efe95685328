"""Items of a data set, and what a model is given of them."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from levelfield.backends.protocol import Resident
from levelfield.worker import items
from levelfield.worker.messages import Predict, Task
from levelfield.zoo import models

RESNET = models.get("resnet50")
TASK = Task(backend="torch", model="resnet50", batch=4, threads=1)


def pictures(count: int) -> items.Records:
    made = np.zeros(count, items.record_of(RESNET))
    made[items.PIXELS] = np.random.default_rng(0).integers(0, 256, made[items.PIXELS].shape)
    return made


def written(folder: Path, made: items.Records) -> str:
    np.save(folder / "items.npy", made)
    return str(folder / "items.npy")


def test_pixels_become_what_torchvision_makes_of_them() -> None:
    made = pictures(1)
    made[items.PIXELS][0, 0, 0] = (0, 128, 255)
    given = items.inputs_of(made, RESNET)["images"]
    assert given.shape == (1, 3, 224, 224)
    assert given.dtype == np.float32
    # (x / 255 - mean) / deviation: black is -2.1179 in red, white 2.64 in blue, as torchvision's users know them.
    assert list(map(float, given[0, :, 0, 0])) == pytest.approx([-2.11790, 0.20518, 2.64000], abs=1e-5)


def answering(seen: list[int]) -> Resident:
    def run(given: dict[str, Any]) -> npt.NDArray[np.float32]:
        image = given["images"]
        seen.append(len(image))
        means: npt.NDArray[np.float32] = image.mean(axis=(1, 2, 3)).reshape(-1, 1)
        return means

    return Resident(place=lambda value: value, run=run, fetch=lambda value: value)


def test_the_last_batch_is_filled_up_and_its_answers_dropped(tmp_path: Path) -> None:
    made, seen = pictures(7), list[int]()
    found = items.predict(Predict(written(tmp_path, made), 1, 6), TASK, answering(seen))
    assert seen == [4, 4]
    assert found.shape == (6, 1)
    expected = items.inputs_of(made[1:], RESNET)["images"].mean(axis=(1, 2, 3))
    np.testing.assert_allclose(np.frombuffer(found.output, "<f4"), expected, rtol=1e-6)
    assert found.items_sha256 == items.digest(made[1:])


@pytest.mark.parametrize(("first", "count"), [(0, 8), (-1, 2), (7, 1), (0, 0)])
def test_items_that_are_not_there_are_refused(tmp_path: Path, first: int, count: int) -> None:
    with pytest.raises(ValueError, match="has 7 items"):
        items.predict(Predict(written(tmp_path, pictures(7)), first, count), TASK, answering([]))


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    for content in (np.zeros(3), np.zeros(2, items.record_of(models.get("bert")))):
        np.save(tmp_path / "items.npy", content)
        with pytest.raises(ValueError, match="does not hold items for ResNet"):
            items.read(tmp_path / "items.npy", RESNET)
    (tmp_path / "items.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ValueError, match="cannot be read"):
        items.read(tmp_path / "items.npy", RESNET)
    np.save(tmp_path / "items.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read"):
        items.read(tmp_path / "items.npy", RESNET)
