"""Spoiled files of data sets: each is read or refused with one sentence, never a traceback."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from levelfield.errors import printable
from levelfield.prepare.evaluation import glue, imagenet, squad, vocabulary
from levelfield.prepare.evaluation.listing import UnusableError
from levelfield.prepare.evaluation.tasks import TASKS
from tests.attacks import mutating
from tests.prepare.evaluation import sets

CASES = 200


def questions(folder: Path) -> Path:
    return sets.squad(folder)


def sentences(folder: Path) -> Path:
    return sets.sst2(folder, [0, 1, 1, 0]) / "dev.tsv"


def scores(folder: Path) -> Path:
    folder.mkdir()
    (folder / "dev.tsv").write_text("index\tsentence1\tsentence2\tscore\n0\tA man.\tA man eats.\t2.5\n1\tA.\tB.\t5\n")
    return folder / "dev.tsv"


def labels(folder: Path) -> Path:
    return sets.imagenet(folder, [3, 999]) / "val_map.txt"


def pieces(folder: Path) -> Path:
    sets.squad(folder)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    return folder / "vocab.txt"


def table(name: str) -> Callable[[Path], object]:
    found = TASKS[name].table
    assert found is not None
    return lambda file: glue.read(file, found)


READERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object]]] = {
    "questions": (questions, squad.read),
    "sentences": (sentences, table("glue-sst2")),
    "scores": (scores, table("glue-stsb")),
    "labels": (labels, lambda file: imagenet.list_pictures(file.parent, 1000)),
    "vocabulary": (pieces, lambda file: vocabulary.find((file.parent,), 30522)),
}


@pytest.mark.parametrize("name", READERS)
def test_it_is_read_or_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    make, read = READERS[name]
    file = make(tmp_path / "set")
    content, rng = file.read_bytes(), random.Random(name)
    read(file)
    refused = 0
    for _ in range(CASES):
        file.write_bytes(mutating.mutated(rng, content))
        try:
            read(file)
        except UnusableError as error:
            refused += 1
            said = str(error)
            assert said == printable(said)
            assert len(said) < 1500
            assert "\n" not in said
    assert refused > CASES // 20
