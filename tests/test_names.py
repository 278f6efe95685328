import pytest

from levelfield.errors import LevelfieldError
from levelfield.names import check_file_name, plural


@pytest.mark.parametrize("name", ["up", "driver-580.95_a", "x" * 64])
def test_a_file_s_name_is_accepted(name: str) -> None:
    check_file_name("An upgrade", name)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "x" * 65])
def test_what_no_file_can_be_called_is_refused(name: str) -> None:
    with pytest.raises(LevelfieldError, match="An upgrade cannot be called"):
        check_file_name("An upgrade", name)


def test_a_noun_agrees_with_its_number() -> None:
    assert [plural(number, "wheel") for number in (0, 1, 2, 1000)] == [
        "0 wheels", "1 wheel", "2 wheels", "1\u202f000 wheels",
    ]  # fmt: skip
    assert plural(2, "file is", "files are") == "2 files are"
