from levelfield.errors import LevelfieldError
from levelfield.safety.tool_output import LONGEST, refused, text


def test_a_text_is_one_printable_line_without_uuids() -> None:
    assert (
        text(" GPU-f9ba66fc-a7f5-94c5-da19-019ef2f9c665\n\x1b[2J is lost ")
        == "GPU-… \N{REPLACEMENT CHARACTER}[2J is lost"
    )
    assert len(text("a" * 1000)) == LONGEST


def test_an_error_is_a_sentence_however_long_the_output() -> None:
    error = refused("a tool", "x" * 10_000)
    assert isinstance(error, LevelfieldError)
    assert error.message.startswith("The output of a tool cannot be read: x")
    assert len(error.message) < 300
