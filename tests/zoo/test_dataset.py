"""A dataset on disk: the same bytes every time, and damage is named."""

import json
from pathlib import Path

import numpy as np
import pytest

from levelfield.zoo import dataset, inputs, models
from levelfield.zoo.weights import HEADER_BYTES

ITEMS = 10


def test_it_is_the_same_file_every_time_and_says_what_it_is(tmp_path: Path) -> None:
    model = models.get("mlp")
    first, second = (dataset.save(model, tmp_path / name, ITEMS) for name in ("a", "b"))
    assert first == second == dataset.read(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert dataset.sha256(tmp_path / "a") == first.sha256
    assert (first.items, first.shape) == (ITEMS, (200,))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a", "b"]


@pytest.mark.parametrize("name", ["mlp", "resnet50"])
def test_records_are_the_inputs_rounded_to_eight_bits(name: str) -> None:
    model = models.get(name)
    values = dataset.decode(dataset.encode(model, 3, 2))
    exact = inputs.make(model, 3, 2)[dataset.tensor(model).name].astype(np.float32)
    assert values.dtype == np.float32
    assert values.shape == exact.shape
    assert np.abs(values - exact).max() <= 2.0**-6, "half a step"


def test_a_dataset_that_is_missing_empty_cut_off_or_changed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mlp.u8"
    with pytest.raises(ValueError, match=r"mlp\.u8 cannot be read: No such file"):
        dataset.read(path)
    header = dataset.save(models.get("mlp"), path, ITEMS)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="is not what its header says"):
        dataset.read(path)
    path.write_bytes(b"not a dataset")
    with pytest.raises(ValueError, match="is not a dataset"):
        dataset.read(path)
    nothing = {"format": dataset.FORMAT, "model": "mlp", "items": 0, "shape": [200], "sha256": ""}
    path.write_bytes(json.dumps(nothing).encode().ljust(HEADER_BYTES))
    with pytest.raises(ValueError, match="is empty"):
        dataset.read(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert dataset.sha256(path) != header.sha256
