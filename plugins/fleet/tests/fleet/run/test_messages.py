"""Messages between head and node: bounded, and nothing but data."""

import io

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan import Selection
from levelfield_fleet.run import messages
from levelfield_fleet.run.messages import Failed, Measure, Measured, Survey, Surveyed

REQUESTS: list[Survey | Measure] = [
    Survey(Selection(models=("mlp",), inject=("5%", "torch")), "venv", "debian"),
    Measure("0123456789abcdef", "node-01", ("--profile", "smoke"), 2**63 - 1, 60.0, "ab"),
]
REPLIES: list[Surveyed | Measured | Failed] = [
    Surveyed("0.1.0", "ab", {"torch@cu13": "cd"}, lacks_files=True),
    Measured("run-1", {"run.json": b"\0\xff"}),
    Failed("x"),
]


@pytest.mark.parametrize("message", [*REQUESTS, *REPLIES])
def test_a_message_comes_back_as_it_was(message: messages.Request | messages.Reply) -> None:
    read = messages.request_of if message in REQUESTS else messages.reply_of
    assert read(messages.encode(message)) == message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1",
        b"\x80\x04.",
        messages.encode(REQUESTS[0]),
        msgspec.msgpack.encode({"type": "other"}),
        b"\x91" * 9999,
    ],
)
def test_what_is_no_reply_is_refused(content: bytes) -> None:
    with pytest.raises(LevelfieldError, match="is no reply"):
        messages.reply_of(content)


def test_a_reply_that_is_too_long_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 10)
    with pytest.raises(LevelfieldError, match="10 at the most"):
        messages.reply_of(messages.encode(REPLIES[1]))


def test_messages_follow_one_another_in_a_pipe() -> None:
    pipe = io.BytesIO()
    for content in (b"one", b"two" * 1_000_000, b""):
        messages.write(pipe, content)
    pipe.seek(0)
    assert messages.read(pipe) == b"one"
    assert messages.read(pipe) == b"two" * 1_000_000
    assert messages.read(pipe) == b""
    with pytest.raises(EOFError):
        messages.read(pipe)


def test_a_length_that_is_a_lie_takes_no_memory() -> None:
    with pytest.raises(LevelfieldError, match="at the most are read"):
        messages.read(io.BytesIO(b"\xff" * 8))
    with pytest.raises(EOFError):
        messages.read(io.BytesIO((1 << 20).to_bytes(8, "big") + b"short"))


@pytest.mark.parametrize("name", ["../x", "a/b", "", "."])
def test_a_folder_on_a_node_is_a_name(name: str) -> None:
    content = messages.encode(msgspec.structs.replace(REQUESTS[1], node=name))
    with pytest.raises(LevelfieldError, match="asked what no head asks"):
        messages.request_of(content)
