"""The file that is made of a folder: once, whole, and never of a folder that changes meanwhile."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.prepare.own_images import preparing
from suite.prepare.own_images.listing import UnusableError, list_images
from suite.prepare.own_images.preparing import prepare
from suite.prepare.own_images.resizing import square
from suite.zoo import models, own_images
from suite.zoo.digits.data import batches
from suite.zoo.training import convergence, recipe
from tests.prepare.own_images import pictures

BATCH = 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return pictures.two_sided(tmp_path / "mine")


def test_the_file_holds_every_image_small_with_its_class(folder: Path, tmp_path: Path) -> None:
    made = prepare(folder, tmp_path, BATCH)
    assert (made.classes, made.trained, made.tested, made.decoder) == (3, 72, 24, "")
    table = own_images.read(tmp_path / made.path)
    assert (tmp_path / made.path).stat().st_size == made.size_bytes
    entries = (*list_images(folder, BATCH).trained, *list_images(folder, BATCH).tested)
    assert [int(label) for label in table["label"]] == [entry.label for entry in entries]
    place = next(index for index, entry in enumerate(entries) if entry.name.endswith(".npy"))
    assert np.array_equal(table["pixels"][place], square(np.load(folder / entries[place].name), 16))


def test_it_is_made_once_and_again_where_it_is_damaged(folder: Path, tmp_path: Path) -> None:
    first = prepare(folder, tmp_path, BATCH)
    path = tmp_path / first.path
    begun, content = path.stat().st_mtime_ns, path.read_bytes()
    assert prepare(folder, tmp_path, BATCH) == first
    assert path.stat().st_mtime_ns == begun
    for damaged in (b"", content[:-1], content[:200] + b"x" + content[201:]):
        path.write_bytes(damaged)
        assert not preparing.is_intact(first, tmp_path)
        assert prepare(folder, tmp_path, BATCH) == first
        assert path.read_bytes() == content
    path.with_suffix(".json").write_text('{"path": "../../etc/passwd"}')
    assert prepare(folder, tmp_path, BATCH) == first
    path.unlink()
    assert not preparing.is_intact(first, tmp_path)


def test_another_pixel_or_another_name_is_other_data(folder: Path, tmp_path: Path) -> None:
    first = prepare(folder, tmp_path, BATCH)
    (folder / "train" / "red" / "1.npy").rename(folder / "train" / "red" / "one.npy")
    second = prepare(folder, tmp_path, BATCH)
    image = np.load(folder / "train" / "red" / "3.npy")
    image[0, 0, 0] ^= 1
    np.save(folder / "train" / "red" / "3.npy", image)
    third = prepare(folder, tmp_path, BATCH)
    assert len({each.source_sha256 for each in (first, second, third)}) == 3
    assert len({each.path for each in (first, second, third)}) == 3


def test_what_cannot_be_decoded_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "train" / "red" / "<b>x.ppm").write_bytes(b"no image")
    with pytest.raises(UnusableError, match=r"“train/red/<b>x.ppm” cannot be read: it is no binary PGM or PPM"):
        prepare(folder, tmp_path, BATCH)
    assert not (tmp_path / "images").exists()
    monkeypatch.setattr("suite.prepare.own_images.decoding.MAX_BYTES", 100)
    with pytest.raises(UnusableError, match="is larger than 0 MiB"):
        prepare(folder, tmp_path, BATCH)


def test_a_folder_that_changes_meanwhile_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = preparing._made

    def later(*words: Any) -> bytes:
        np.save(folder / "train" / "red" / "1.npy", np.zeros((9, 9), np.uint8))
        return plain(*words)

    monkeypatch.setattr(preparing, "_made", later)
    with pytest.raises(UnusableError, match=r"“train/red/1.npy” changed while it was read."):
        prepare(folder, tmp_path, BATCH)


@pytest.mark.parametrize(("model", "shape"), [("mlp", (768,)), ("resnet50", (3, 16, 16))])
def test_networks_follow_the_classes_and_take_the_images(
    folder: Path, tmp_path: Path, model: str, shape: tuple[int, ...]
) -> None:
    goal = convergence.goal(model, images=tmp_path / prepare(folder, tmp_path, BATCH).path, target=0.8)
    network = models.get(goal.network)
    assert goal.network == f"{convergence.goal(model).network}@3x16x16-3"
    assert network.output.shape == (3,)
    assert (goal.target, goal.batch) == (0.8, 64)
    assert "3 classes" in recipe.describe(goal)
    split = convergence.split(goal)
    chosen = convergence.schedule(goal, 0)
    assert chosen.shape == (goal.steps, 64)
    assert chosen.max() == 71
    batch = next(batches(split.train, chosen[:1]))
    name = network.inputs[0].name
    assert batch[name].shape == (64, *shape)
    assert batch[name].dtype == split.test[name].dtype == np.float32
    assert np.array_equal(batch[name] * 128 + 128, split.train[name][chosen[0]])
    assert set(split.test["labels"].tolist()) == {0, 1, 2}


def test_the_reference_trains_on_them_and_tells_wrong_trainings(folder: Path, tmp_path: Path) -> None:
    import msgspec

    goal = convergence.goal("mlp", images=tmp_path / prepare(folder, tmp_path, BATCH).path)
    goal = msgspec.structs.replace(goal, own_sensitivity=convergence.sensitivity(goal, 1))
    right = convergence.expected_start(goal, 0)
    assert right.losses[-1] < right.losses[0]
    assert right.tolerance < 1e-3
    optimizer = msgspec.structs.replace(goal.optimizer, learning_rate=0.9 * goal.optimizer.learning_rate)
    slower = convergence.first_losses(msgspec.structs.replace(goal, optimizer=optimizer), 0)
    assert convergence.error(slower, right.losses, own=True) > 10 * right.tolerance
    assert convergence.error(right.losses, right.losses, own=True) == 0


def test_a_loss_near_zero_is_not_asked_for_digits_that_no_float32_has() -> None:
    assert convergence.error((2.0, 1e-12), (2.0, 1e-9)) > 0.9
    assert convergence.error((2.0, 1e-12), (2.0, 1e-9), own=True) < 1e-9
    assert convergence.error((2.0,), (2.0, 1e-9), own=True) == float("inf")
    assert convergence.error((2.0, float("nan")), (2.0, 1e-9), own=True) == float("inf")


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"text"])
def test_a_file_that_is_not_one_is_a_sentence(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "x.npy"
    with pytest.raises(ValueError, match=r"The images cannot be read from x\.npy"):
        own_images.read(path)
    path.write_bytes(damage)
    with pytest.raises(ValueError, match=r"x\.npy does not hold images of this version"):
        own_images.read(path)


def test_a_file_with_one_class_or_nothing_to_test_is_a_sentence(tmp_path: Path) -> None:
    table = np.zeros(4, own_images.RECORD)
    for label, tested in ((0, 1), (1, 0)):
        table["label"][0], table["tested"] = label, 0
        table["tested"][1] = tested
        np.save(tmp_path / "x.npy", table)
        with pytest.raises(ValueError, match="of two classes or more"):
            own_images.read(tmp_path / "x.npy")
