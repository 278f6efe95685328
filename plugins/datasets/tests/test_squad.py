import json
import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield_datasets import squad
from levelfield_datasets.files import UnusableError

WORDS = st.lists(
    st.sampled_from(["the", "A", "an", "cat", "Cat's", "U.S.", "42", "—", "theory", "  ", "dog,"]), max_size=6
)


def normalize_answer(s: str) -> str:
    """As `evaluate-v1.1.py` has it."""

    def remove_articles(text: str) -> str:
        return re.sub(r"\b(a|an|the)\b", " ", text)

    def white_space_fix(text: str) -> str:
        return " ".join(text.split())

    def remove_punc(text: str) -> str:
        exclude = set(string.punctuation)
        return "".join(ch for ch in text if ch not in exclude)

    return white_space_fix(remove_articles(remove_punc(s.lower())))


def f1_score(prediction: str, ground_truth: str) -> float:
    """As `evaluate-v1.1.py` has it."""
    prediction_tokens = normalize_answer(prediction).split()
    ground_truth_tokens = normalize_answer(ground_truth).split()
    common = Counter(prediction_tokens) & Counter(ground_truth_tokens)
    num_same = sum(common.values())
    if num_same == 0:
        return 0
    precision = 1.0 * num_same / len(prediction_tokens)
    recall = 1.0 * num_same / len(ground_truth_tokens)
    return (2 * precision * recall) / (precision + recall)


def test_worked_examples_of_the_official_rules() -> None:
    assert squad.normalised("The  U.S.A., (a) big-dog!") == "usa bigdog"
    assert squad.exact("the Denver Broncos", ["Denver Broncos!"])
    assert not squad.exact("Broncos", ["Denver Broncos", "the Broncos of Denver"])
    assert squad.f1("the Denver team", ["Denver Broncos", "a team"]) == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert squad.f1("", ["Paris"]) == 0


@given(WORDS, WORDS)
def test_scores_are_those_of_the_official_code(found: list[str], truth: list[str]) -> None:
    one, other = " ".join(found), " ".join(truth)
    assert squad.normalised(one) == normalize_answer(one)
    assert squad.f1(one, [other]) == pytest.approx(f1_score(one, other))


def test_the_best_answer_is_the_pair_with_the_largest_sum() -> None:
    context = "Marie was born in Paris."
    words = [("Marie", 0), ("was", 6), ("born", 10), ("in", 15), ("Paris", 18), (".", 23)]
    starts, ends = tuple(at for _, at in words), tuple(at + len(word) for word, at in words)
    span = squad.Span(begins=4, counts=(True,) * 6, starts=starts, ends=ends)
    scores = np.full((12, 2), -9.0)
    scores[8, 0], scores[8, 1] = 3.0, 2.0  # Paris alone
    scores[7, 0] = 2.5  # in Paris: 4.5
    scores[0, 0] = 99.0  # [CLS] is no answer
    scores[5, 1] = 9.0  # an end before every good beginning
    scores[4, 0] = -8.0
    assert squad.best(context, [(span, scores)]) == "Paris"
    elsewhere = squad.Span(begins=4, counts=(True,) * 4 + (False, True), starts=starts, ends=ends)
    assert squad.best(context, [(elsewhere, scores)]) == "in Paris"
    assert squad.best(context, []) == ""


def test_an_answer_has_thirty_pieces_at_the_most() -> None:
    context = "x" * 60
    places = tuple(range(60))
    span = squad.Span(0, (True,) * 60, places, tuple(at + 1 for at in places))
    scores = np.zeros((60, 2))
    scores[0, 0], scores[40, 1], scores[29, 1] = 5.0, 5.0, 3.0
    assert len(squad.best(context, [(span, scores)])) == 30


def written(folder: Path, **fields: Any) -> Path:
    answer = {"text": "Paris", "answer_start": 3}
    asked = {"id": "q1", "question": "Where?", "answers": [answer]} | fields.pop("asked", {})
    article = {"title": "t", "paragraphs": [{"context": "in Paris", "qas": [asked]}]}
    file = folder / "dev.json"
    file.write_text(json.dumps({"version": "1.1", "data": [article]} | fields), encoding="utf-8")
    return file


def test_a_file_is_read(tmp_path: Path) -> None:
    (found,) = squad.read(written(tmp_path))
    assert (found.question, found.context, found.answers) == ("Where?", "in Paris", ("Paris",))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"version": "v2.0"}, "of version “v2.0”, and v1.1 alone"),
        ({"version": 3}, "no file of SQuAD's form: Expected `str`"),
        ({"data": []}, "holds no questions"),
        ({"asked": {"answers": []}}, "The question “q1” of “dev.json” has no answer"),
        ({"asked": {"answers": "Paris"}}, "no file of SQuAD's form"),
        ({"version": "\x1b[2J"}, "of version “�[2J”"),
    ],
)
def test_another_file_is_refused_in_a_sentence(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UnusableError, match=re.escape(said)):
        squad.read(written(tmp_path, **fields))


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UnusableError, match="no file of SQuAD's form: Input data was truncated"):
        squad.read(file)
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(UnusableError, match="no text in UTF-8"):
        squad.read(file)
    with pytest.raises(UnusableError, match="cannot be read: No such file"):
        squad.read(tmp_path / "none.json")
