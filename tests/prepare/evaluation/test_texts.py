import os
import re
from pathlib import Path

import pytest

from levelfield.prepare.evaluation import glue, imagenet, preparing, squad, texts, vocabulary
from levelfield.prepare.evaluation.listing import UnusableError
from levelfield.prepare.evaluation.tasks import TASKS


def test_a_mark_of_byte_order_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone")
    assert texts.read(tmp_path / "a", "the text") == "one"


def test_what_is_no_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"one\xff")
    (tmp_path / "long").write_bytes(b"x" * (2 << 20))
    os.mkfifo(tmp_path / "pipe")
    for name, said in (
        ("bytes", "“bytes” is no text in UTF-8: byte 3 is none of it."),
        ("long", "“long” is larger than 1 MiB, and no list is."),
        ("pipe", "“pipe”, list, cannot be read: it is not a plain file."),
        ("none", "“none”, list, cannot be read: No such file or directory."),
        (".", "cannot be read: "),
    ):
        with pytest.raises(UnusableError, match=re.escape(said)):
            texts.read(tmp_path / name, "list", 1 << 20)


def test_no_link_leaves_the_folder_of_a_data_set(tmp_path: Path) -> None:
    table = TASKS["glue-sst2"].table
    assert table is not None
    (tmp_path / "secret").write_text("n1\nn2\n")
    for name in ("n1", "n2"):
        (tmp_path / "set" / name).mkdir(parents=True)
    for reads, name in (
        (lambda folder: imagenet.list_pictures(folder, 2), "classes.txt"),
        (lambda folder: vocabulary.find((folder,), 10), "vocab.txt"),
        (lambda folder: glue.read(folder, table), "dev.tsv"),
        (lambda folder: squad.read(folder / "dev-v1.1.json", folder), "dev-v1.1.json"),
        (lambda folder: preparing._content(folder, "a.png"), "a.png"),
    ):
        (tmp_path / "set" / name).symlink_to("../secret")
        with pytest.raises(UnusableError, match=r"outside of its folder|leaves the folder"):
            reads(tmp_path / "set")
        (tmp_path / "set" / name).unlink()
