"""The sentence that a user sees."""

from levelfield.errors import LONGEST, LevelfieldError


def test_a_sentence_is_said_as_it_is() -> None:
    error = LevelfieldError("It is gone.", fix="Make it again.", exit_code=3)
    assert (error.message, error.fix, error.exit_code) == ("It is gone.", "Make it again.", 3)
    assert str(error) == "It is gone. Make it again."


def test_a_name_without_end_leaves_both_ends_of_the_sentence() -> None:
    error = LevelfieldError(f"There is no model called {'x' * 100_000!r}; there are mlp and bert.", fix="y" * 100_000)
    assert error.message.startswith("There is no model called 'xxx")
    assert error.message.endswith("xxx'; there are mlp and bert.")
    assert max(len(error.message), len(error.fix)) <= LONGEST
