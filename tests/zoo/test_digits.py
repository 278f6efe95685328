"""The digits: the published file, one split for everybody, and an order of batches for every seed."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from levelfield.zoo import digits, models

DIGITS_MLP, DIGITS_RESNET = models.get("digits_mlp"), models.get("digits_resnet")


def test_every_image_is_trained_on_or_tested_with_and_none_twice() -> None:
    split = digits.load(DIGITS_MLP)
    assert (split.train["features"].shape, split.test["features"].shape) == ((1437, 64), (360, 64))
    assert split.train["features"].dtype == np.float32
    assert split.test["labels"].dtype == np.int32
    assert set(split.test["labels"].tolist()) == set(range(10))
    assert min(np.bincount(split.test["labels"])) >= 20, "no class is nearly missing from the test images"
    lines = [line.rsplit(b",", 1) for line in gzip.decompress(digits.FILE.read_bytes()).split()]
    written = sorted((tuple(float(each) for each in pixels.split(b",")), int(label)) for pixels, label in lines)
    both = np.concatenate([split.train["features"], split.test["features"]]).astype(np.float64) * 8 + 8
    labels = np.concatenate([split.train["labels"], split.test["labels"]])
    found = sorted((tuple(pixels.tolist()), int(label)) for pixels, label in zip(both, labels, strict=True))
    assert found == written


def test_the_split_is_the_same_everywhere() -> None:
    """A change of these digests would make every record before it one of another question."""
    assert digits.inputs_sha256(digits.load(DIGITS_MLP))[:16] == "778288a4f93559d1"
    assert digits.inputs_sha256(digits.load(DIGITS_RESNET))[:16] == "b5f6f0f0e9642e9f"


def test_an_epoch_takes_every_image_once_in_an_order_of_its_own() -> None:
    chosen = digits.schedule(3, 50, 64)
    assert chosen.shape == (50, 64)
    first, second = chosen[:22].reshape(-1), chosen[22:44].reshape(-1)
    assert len(set(first.tolist())) == len(set(second.tolist())) == 22 * 64
    assert not np.array_equal(first, second)
    assert chosen.max() < 1437
    assert np.array_equal(chosen[:10], digits.schedule(3, 10, 64)), "a longer training begins alike"
    assert not np.array_equal(chosen, digits.schedule(4, 50, 64))


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "digits.csv.gz"
    with pytest.raises(ValueError, match=r"cannot be read from digits\.csv\.gz"):
        digits.load(DIGITS_MLP, other)
    other.write_bytes(digits.FILE.read_bytes()[:-1] + b"\1")
    with pytest.raises(ValueError, match=r"is not the file that scikit-learn published"):
        digits.load(DIGITS_MLP, other)
