"""The sentence that a user sees."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest

from levelfield.errors import LONGEST, UNPRINTABLE, LevelfieldError, printable_json, shortened, without_folders


def test_a_name_without_end_leaves_both_ends_of_the_sentence() -> None:
    error = LevelfieldError(f"There is no model called {'x' * 100_000!r}; there are mlp and bert.", fix="y" * 100_000)
    assert error.message.startswith("There is no model called 'xxx")
    assert error.message.endswith("xxx'; there are mlp and bert.")
    assert max(len(error.message), len(error.fix)) <= LONGEST


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ImportError: /home/jane/venv/lib/torch/__init__.py: undefined", "ImportError: __init__.py: undefined"),
        ('File "/home/jane doe/net.py", line 3', 'File "net.py", line 3'),
        (f"{Path.home()}/my nets/x.npy", "my nets/x.npy"),
        ("~/acme/x.npy or ../acme/y.npy", "x.npy or y.npy"),
        ("1/2, a/b, https://onnx.ai/onnx/ and /proc/cpuinfo", "1/2, a/b, https://onnx.ai/onnx/ and /proc/cpuinfo"),
    ],
)
def test_a_text_for_a_record_names_no_folder(text: str, left: str) -> None:
    assert without_folders(text) == left


@pytest.mark.parametrize(
    ("longest", "says"),
    [
        (38, "The figures may still hold some of…"),
        (39, "The figures may still hold some of the…"),
        (16, "The figures may…"),
    ],
)
def test_a_text_is_cut_between_words(longest: int, says: str) -> None:
    assert shortened("The figures may still hold some of the disturbance.", longest) == says
    assert shortened("x" * 99, longest) == "x" * (longest - 1) + "…"


def test_no_character_that_is_not_seen_is_printable() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    replaced = set(UNPRINTABLE.findall(every))
    hidden = {each for each in every if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\t", "\n"}
    assert replaced >= hidden
    fillers = set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\U00013441\U00013442\U00016fe4\U0001d159")
    selectors = {each for each in every if "VARIATION SELECTOR" in unicodedata.name(each, "")}
    assert replaced >= fillers | selectors
    assert {unicodedata.category(each) for each in replaced - hidden - fillers - selectors} == {"Cn"}


def test_json_says_the_same_with_escapes() -> None:
    text = json.dumps("fast\u200b \U000e0041 – ünseen\u202e", ensure_ascii=False)
    assert json.loads(printable_json(text)) == json.loads(text)
    assert not UNPRINTABLE.search(printable_json(text))
