"""Replies, one line each, whichever thread writes them."""

import io
import os

import msgspec
import pytest

from levelfield.worker.messages import Failed, Joined, Reply
from levelfield.worker.replies import ReplyWriter

LOST = Failed("crashed", "Process 2 of 2 was killed.")


class ExitedError(Exception):
    """In place of the end of the process."""


def lines(stream: io.BytesIO) -> list[Reply]:
    return [msgspec.json.decode(line, type=Reply) for line in stream.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def _no_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    def exits(code: int) -> None:
        raise ExitedError(code)

    monkeypatch.setattr(os, "_exit", exits)


def test_a_failure_takes_the_place_of_a_reply_that_is_owed() -> None:
    stream = io.BytesIO()
    replies = ReplyWriter(stream)
    replies.expect_one()
    with pytest.raises(ExitedError):
        replies.fail_and_exit(LOST)
    assert lines(stream) == [LOST]


def test_nobody_hears_of_a_failure_that_nothing_asked_for() -> None:
    stream = io.BytesIO()
    replies = ReplyWriter(stream)
    replies.expect_one()
    replies.write(Joined())
    replies.fail_and_exit(LOST)
    assert lines(stream) == [Joined()]
