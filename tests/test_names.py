import pytest

from levelfield.errors import LevelfieldError
from levelfield.names import check_file_name, unknown


def test_close_names_are_offered_first() -> None:
    error = unknown("backend", "onxruntime", ["torch", "onnxruntime", "jax"])
    assert str(error) == "There is no backend called 'onxruntime'. Did you mean 'onnxruntime'?"


def test_all_names_are_offered_where_none_is_close() -> None:
    assert unknown("model", "zzz", ["mlp", "bert"]).fix == "Known: bert, mlp."
    assert unknown("model", "zzz", []).fix == "There are none."


@pytest.mark.parametrize("name", ["up", "driver-580.95_a", "x" * 64])
def test_a_file_s_name_is_accepted(name: str) -> None:
    check_file_name("An upgrade", name)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "x" * 65])
def test_what_no_file_can_be_called_is_refused(name: str) -> None:
    with pytest.raises(LevelfieldError, match="An upgrade cannot be called"):
        check_file_name("An upgrade", name)
