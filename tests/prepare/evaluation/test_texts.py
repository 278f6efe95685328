import os
import re
from pathlib import Path

import pytest

from suite.prepare.evaluation import texts
from suite.prepare.own_images.listing import UnusableError


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
