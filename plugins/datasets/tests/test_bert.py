import collections
import time

import numpy as np
import pytest

from levelfield.worker import items
from levelfield.zoo import models
from levelfield_datasets import bert, worker

SPECIAL = bert.Vocabulary("", pad=0, cls=101, sep=102, lowercase=True)


def published(text: int, question: int, length: int) -> list[tuple[int, int, list[bool]]]:
    """Windows as `convert_examples_to_features` and `_check_is_max_context` of google-research/bert make them."""
    doc_span = collections.namedtuple("doc_span", ["start", "length"])  # noqa: PYI024  (as published)
    max_tokens_for_doc = length - question - 3
    spans = []
    start_offset = 0
    while start_offset < text:
        span_length = text - start_offset
        span_length = min(span_length, max_tokens_for_doc)
        spans.append(doc_span(start=start_offset, length=span_length))
        if start_offset + span_length == text:
            break
        start_offset += min(span_length, 128)

    def is_max_context(cur: int, position: int) -> bool:
        best_score, best_index = None, None
        for index, span in enumerate(spans):
            end = span.start + span.length - 1
            if position < span.start or position > end:
                continue
            score = min(position - span.start, end - position) + 0.01 * span.length
            if best_score is None or score > best_score:
                best_score, best_index = score, index
        return cur == best_index

    return [
        (span.start, span.length, [is_max_context(number, span.start + each) for each in range(span.length)])
        for number, span in enumerate(spans)
    ]


@pytest.mark.parametrize("text", [1, 50, 300, 365, 366, 500, 1001])
@pytest.mark.parametrize("question", [3, 64])
def test_windows_are_those_of_the_published_code(text: int, question: int) -> None:
    found = bert.windows(question, text, 384)
    assert [(each.first, each.count, list(each.counts)) for each in found] == published(text, question, 384)
    assert {each.begins for each in found} == {question + 2}
    counted = [each.first + at for each in found for at, counts in enumerate(each.counts) if counts]
    assert sorted(counted) == list(range(text))


def test_a_long_text_takes_time_as_its_length() -> None:
    began, pieces = time.process_time(), 200_000
    assert sum(sum(each.counts) for each in bert.windows(10, pieces, 384)) == pieces
    assert time.process_time() - began < 20


def test_without_room_nothing_is_made() -> None:
    with pytest.raises(ValueError, match="leaves no room in 16"):
        bert.windows(13, 5, 16)
    assert [(each.first, each.count) for each in bert.windows(8, 12, 16)] == [(0, 5), (5, 5), (10, 2)]


def test_a_pair_of_texts_by_hand() -> None:
    dtype = items.record_of(models.get("bert-classifier-2"))
    made = bert.record(dtype, SPECIAL, [7, 8], [9])
    assert made["input_ids"][:7].tolist() == [101, 7, 8, 102, 9, 102, 0]
    assert made["token_type_ids"][:7].tolist() == [0, 0, 0, 0, 1, 1, 0]
    assert made["attention_mask"][:7].tolist() == [1, 1, 1, 1, 1, 1, 0]
    alone = bert.record(dtype, SPECIAL, [7, 8], None)
    assert alone["input_ids"][:5].tolist() == [101, 7, 8, 102, 0]
    assert not alone["token_type_ids"].any()


def test_the_longer_text_is_shortened_first() -> None:
    first, second = bert.shortened(list(range(10)), list(range(4)), 8)
    assert (len(first), len(second)) == (4, 4)
    assert bert.shortened([1], [2], 8) == ([1], [2])
    assert np.array_equal(first, np.arange(4))


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [(500, 375, (341, 256)), (375, 500, (256, 341)), (256, 256, (256, 256)), (100, 33, (775, 256)), (1, 3, (256, 768))],
)
def test_the_longer_side_of_a_picture_is_rounded_down_as_in_torchvision(
    width: int, height: int, expected: tuple[int, int]
) -> None:
    assert worker.resized(width, height) == expected
