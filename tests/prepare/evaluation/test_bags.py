import re
from pathlib import Path

import numpy as np
import pytest

from suite.prepare.artifacts import Artifacts
from suite.prepare.evaluation import bags
from suite.prepare.evaluation.tasks import DataRequest
from suite.prepare.own_images.listing import UnusableError
from tests.prepare.evaluation import sets


def test_a_bag_counts_pieces_wherever_they_stand() -> None:
    one = bags.bag([5, 9, 5])
    assert one.shape == (768,)
    assert sorted(one[one != bags.ABSENT]) == [192, 255]
    np.testing.assert_array_equal(one, bags.bag([9, 5, 5]))
    assert (bags.bag([]) == bags.ABSENT).all()


def test_of_two_texts_the_second_has_other_places() -> None:
    assert not np.array_equal(bags.bag([5], [9]), bags.bag([9], [5]))


def test_a_vocabulary_is_spread_over_all_places() -> None:
    found = np.stack([bags.bag([piece]) for piece in range(3000)]) != bags.ABSENT
    assert (found.sum(axis=1) == 1).all()
    assert 1 <= found.sum(axis=0).min() <= found.sum(axis=0).max() <= 8


@pytest.mark.parametrize(
    ("task", "spoil", "said"),
    [
        ("glue-stsb", "", "GLUE STS-B has no classes of texts to train on."),
        ("glue-sst2", "train.tsv", "“train.tsv”, the table of sentences, cannot be read"),
        ("glue-sst2", "vocab.txt", "There is no vocab.txt"),
        ("glue-sst2", "folder", "is no folder with train.tsv and dev.tsv."),
        ("glue-sst2", "few", "There are 10 texts to train on, and one step takes 64."),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_a_sentence(tmp_path: Path, task: str, spoil: str, said: str) -> None:
    folder = sets.reviews(tmp_path / "texts", 10 if spoil == "few" else 80, 4)
    if spoil in {"train.tsv", "vocab.txt"}:
        (folder / spoil).unlink()
    request = DataRequest(task, folder / "dev.tsv" if spoil == "folder" else folder)

    def never(*_: object) -> object:
        raise AssertionError("nothing is launched")

    launcher = type("Launcher", (), {"prepare": never})()
    with pytest.raises(UnusableError, match=re.escape(said)):
        bags.prepare(request, Artifacts(tmp_path), 64, launcher, lambda _: None)
