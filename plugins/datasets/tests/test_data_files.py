"""Files of data sets: what is read of each form, and one sentence for each that cannot be read."""

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from levelfield.errors import printable
from levelfield_datasets import bert, files, glue, imagenet, preparing, squad
from levelfield_datasets.files import UnusableError
from levelfield_datasets.glue import TABLES
from tests import small_sets
from tests.attacks import mutating

TSV = {
    "cola": ("gj04\t1\t\tThe sailors rode the breeze.\ngj04\t0\t*\tAs you eat the most.\n", [1, 0]),
    "sst2": ('sentence\tlabel\nit \'s a "charming" journey \t1\nunflinchingly bleak \t0\n', [1, 0]),
    "mrpc": (
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said so.\tSo he said.\n0\t1\t2\tA.\tB.\n",
        [1, 0],
    ),
    "stsb": ("index\tsentence1\tsentence2\tscore\n0\tA man.\tA man eats.\t2.5\n1\tA.\tA.\t5.000\n", [2.5, 5.0]),
    "qqp": (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\tWhy?\tHow?\t0\n4\t5\t6\tWho?\tWho?\t1\n",
        [0, 1],
    ),
    "mnli": ("index\tsentence1\tsentence2\tgold_label\n0\tA.\tB.\tneutral\n1\tC.\tD.\tcontradiction\n", [1, 2]),
    "qnli": ("index\tquestion\tsentence\tlabel\n0\tWhat?\tThis.\tentailment\n1\tWho?\tIt.\tnot_entailment\n", [0, 1]),
    "rte": ("index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tnot_entailment\n1\tC.\tD.\tentailment\n", [1, 0]),
    "wnli": ("index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\t1\n1\tC.\tD.\t0\n", [1, 0]),
}
PIECES = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\n##s\n"


@pytest.mark.parametrize("name", TSV)
def test_every_table_is_read(tmp_path: Path, name: str) -> None:
    table = TABLES[name][1]
    content, expected = TSV[name]
    (tmp_path / table.file).write_text(content, encoding="utf-8")
    rows = glue.read(tmp_path, table)
    assert [row.label if table.classes else row.score for row in rows] == expected
    assert all(bool(row.second) == (name not in {"cola", "sst2"}) for row in rows)
    if name == "sst2":
        assert rows[0].first == 'it \'s a "charming" journey ', "quotes mean nothing"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("sst2", "sentence\tlabel\ngood\t1\nbad", "Line 3 of “dev.tsv” has 1 fields, and should have 2"),
        ("sst2", "sentence\tlabel\ngood\t2\n", "The label “2” in line 2 of “dev.tsv” is none of 0, 1."),
        ("sst2", "index\tsentence\n0\tgood\n", "“dev.tsv” has no column 'label'"),
        ("sst2", "sentence\tlabel\n", "holds no sentences"),
        ("sst2", "", "has no column 'sentence'"),
        ("stsb", "index\tsentence1\tsentence2\tscore\n0\tA.\tB.\t5.1\n", "The score “5.1” in line 2"),
        ("stsb", "index\tsentence1\tsentence2\tscore\n0\tA.\tB.\tnan\n", "is no number from 0 to 5"),
        ("cola", "gj04\t1\t\tA sentence.\textra\n", "Line 1 of “dev.tsv” has 5 fields, and should have 4"),
    ],
)
def test_a_spoiled_table_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / "dev.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(UnusableError, match=re.escape(said)):
        glue.read(tmp_path, TABLES[name][1])


def pictures(root: Path, *names: str, **texts: str) -> list[tuple[str, int]]:
    """Write empty pictures and files of text, and list them for so many classes as `n` says."""
    classes = int(texts.pop("n"))
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    for name, text in texts.items():
        (root / f"{name}.txt").write_text(text)
    return [(picture.name, picture.label) for picture in imagenet.list_pictures(root, classes)]


def test_pictures_are_listed_with_their_classes(tmp_path: Path) -> None:
    val = ("val/n2/b.JPEG", "val/n1/c.jpeg", "val/n1/notes.txt", "val/.cache/x.JPEG")
    assert pictures(tmp_path / "sorted", *val, n="2") == [("n1/c.jpeg", 0), ("n2/b.JPEG", 1)]
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "val").symlink_to(tmp_path / "sorted" / "val")
    with pytest.raises(UnusableError, match="a link to another folder"):
        pictures(tmp_path / "linked", n="2")
    listed = pictures(tmp_path / "classes", "n1/a.jpg", "n2/b.jpg", classes="n0\nn2\nn1\n", n="3")
    assert listed == [("n1/a.jpg", 2), ("n2/b.jpg", 1)]
    flat = pictures(tmp_path / "flat", "b.JPEG", "a.JPEG", val_map="b.JPEG 65\na.JPEG 970\n", n="1000")
    assert flat == [("a.JPEG", 970), ("b.JPEG", 65)]


@pytest.mark.parametrize(
    ("names", "texts", "said"),
    [
        ((), {"val_map": "a.JPEG 1000\n"}, "Line 1 of val_map.txt has the label 1000, and the network tells 1000"),
        ((), {"val_map": "a.JPEG\n"}, "Line 1 of val_map.txt is not a name and a number: “a.JPEG”."),
        ((), {"val_map": "a.JPEG -1\n"}, "is not a name and a number"),
        ((), {"val_map": "a.JPEG 1\na.JPEG 2\n"}, "Line 2 of val_map.txt names “a.JPEG” a second time."),
        ((), {"val_map": "../a.JPEG 1\n"}, "names a file outside of the folder"),
        ((), {"val_map": "/etc/passwd 1\n"}, "names a file outside of the folder"),
        ((), {"val_map": f"a.JPEG {'9' * 5000}\n"}, "has the label 999999999999, and the network tells 1000"),
        ((), {"val_map": "\n"}, "holds no pictures"),
        ((), {}, "There is no folder “set” of pictures"),
        (("a.txt",), {}, "neither folders of classes nor a file of labels"),
        (("n1/a.jpg", "n2/b.jpg"), {}, "has 2 classes, and the network tells 1000 apart: name all of them in a"),
        (("n1/a.jpg", "n2/b.jpg"), {"classes": "n1\nn3\n", "n": "2"}, "The class “n2” is not in classes.txt."),
    ],
)
def test_pictures_without_known_classes_are_refused(
    tmp_path: Path, names: tuple[str, ...], texts: dict[str, str], said: str
) -> None:
    if texts:
        (tmp_path / "set").mkdir()
    with pytest.raises(UnusableError, match=re.escape(said)):
        pictures(tmp_path / "set", *names, **({"n": "1000"} | texts))


def test_a_vocabulary_is_beside_the_data_or_beside_the_weights(tmp_path: Path) -> None:
    beside = tmp_path / "weights"
    beside.mkdir()
    (beside / "vocab.txt").write_text(PIECES)
    known = bert.find_vocabulary((tmp_path, beside), 100)
    assert (known.pad, known.cls, known.sep, known.lowercase) == (0, 2, 3, True)
    (beside / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 512}')
    assert not bert.find_vocabulary((tmp_path, beside), 100).lowercase


@pytest.mark.parametrize(
    ("content", "configuration", "said"),
    [
        (None, None, "There is no vocab.txt in “data”: it says which piece"),
        ("[PAD]\nword\n", None, "vocab.txt has no [UNK], [CLS], [SEP]"),
        (PIECES * 30, None, "vocab.txt has 180 pieces, and the network knows 100."),
        (PIECES, '{"do_lower_case": "yes"}', "tokenizer_config.json is no configuration of a tokenizer"),
    ],
)
def test_another_vocabulary_is_refused(
    tmp_path: Path, content: str | None, configuration: str | None, said: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, text in (("vocab.txt", content), ("tokenizer_config.json", configuration)):
        if text is not None:
            (folder / name).write_text(text)
    with pytest.raises(UnusableError, match=re.escape(said)):
        bert.find_vocabulary((folder,), 100)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbfone")
    assert files.read_text(tmp_path / "mark", "list") == "one", "a mark of byte order is no text"
    (tmp_path / "bytes").write_bytes(b"one\xff")
    (tmp_path / "long").write_bytes(b"x" * (2 << 20))
    os.mkfifo(tmp_path / "pipe")
    for name, said in (
        ("bytes", "“bytes” is no text in UTF-8: byte 3 is none of it."),
        ("long", "“long” is larger than 1 MiB, and no list is."),
        ("pipe", "“pipe”, the list, cannot be read: it is not a plain file."),
        ("none", "“none”, the list, cannot be read: No such file or directory."),
        (".", "cannot be read: "),
    ):
        with pytest.raises(UnusableError, match=re.escape(said)):
            files.read_text(tmp_path / name, "list", 1 << 20)


def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "val.txt").write_text("x\0y.jpg 1\n" + "x" * 300 + ".jpg 1\n")
    for picture in imagenet.list_pictures(tmp_path, 2):
        with pytest.raises(UnusableError, match=r"^“x.*”, the picture, cannot be read: "):
            preparing.picture_file(tmp_path, picture.name)


def test_no_link_leaves_the_folder_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("n1\nn2\n")
    for name in ("n1", "n2"):
        (tmp_path / "set" / name).mkdir(parents=True)
    reads: dict[str, Callable[[Path], object]] = {
        "classes.txt": lambda folder: imagenet.list_pictures(folder, 2),
        "vocab.txt": lambda folder: bert.find_vocabulary((folder,), 10),
        "dev.tsv": lambda folder: glue.read(folder, TABLES["sst2"][1]),
        "dev-v1.1.json": lambda folder: squad.read(folder / "dev-v1.1.json", folder),
        "a.png": lambda folder: preparing.picture_file(folder, "a.png"),
    }
    for name, read in reads.items():
        (tmp_path / "set" / name).symlink_to("../secret")
        with pytest.raises(UnusableError, match=r"outside of its folder|leaves the folder"):
            read(tmp_path / "set")
        (tmp_path / "set" / name).unlink()


def scores(folder: Path) -> Path:
    folder.mkdir()
    (folder / "dev.tsv").write_text(TSV["stsb"][0])
    return folder / "dev.tsv"


SPOILED: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object]]] = {
    "questions": (small_sets.squad, squad.read),
    "sentences": (
        lambda at: small_sets.sst2(at, [0, 1, 1, 0]) / "dev.tsv",
        lambda file: glue.read(file, TABLES["sst2"][1]),
    ),
    "scores": (scores, lambda file: glue.read(file, TABLES["stsb"][1])),
    "labels": (
        lambda at: small_sets.imagenet(at, [3, 999]) / "val_map.txt",
        lambda file: imagenet.list_pictures(file.parent, 1000),
    ),
    "vocabulary": (
        lambda at: small_sets.squad(at).with_name("vocab.txt"),
        lambda file: bert.find_vocabulary((file.parent,), 30522),
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_file_is_read_or_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    make, read = SPOILED[name]
    file = make(tmp_path / "set")
    content, rng = file.read_bytes(), random.Random(name)
    read(file)
    refused: list[str] = []
    for _ in range(200):
        file.write_bytes(mutating.mutated(rng, content))
        try:
            read(file)
        except UnusableError as error:
            refused.append(str(error))
    assert len(refused) > 10
    for said in refused:
        assert said == printable(said)
        assert len(said) < 1500
        assert "\n" not in said
