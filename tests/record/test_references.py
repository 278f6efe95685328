"""What people type behind an `@`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.errors import LevelfieldError
from levelfield.record.references import Reference, parse, suffix


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("onnxruntime", Reference("onnxruntime")),
        ("onnxruntime@1.30.0", Reference("onnxruntime", "1.30.0")),
        ("torch@cu13", Reference("torch", None, "cu13")),
        ("torch@2.12.0+cu13", Reference("torch", "2.12.0", "cu13")),
        ("torch@nightly", Reference("torch", "nightly")),
        ("jax+python=3.13", Reference("jax", "py3.13")),
        ("jax@0.12.0.1+python=3.13", Reference("jax", "0.12.0.1-py3.13")),
        ("jax@0.12.0.1+cu13+python=3.13", Reference("jax", "0.12.0.1-py3.13", "cu13")),
    ],
)
def test_a_reference_is_read_and_written(text: str, reference: Reference) -> None:
    assert parse(text) == reference
    assert str(reference) == text


NO_VERSIONS = (
    "onnxruntime@", "onnxruntime@../../etc", "onnxruntime@.x", "torch@1.0+rocm", "torch@a/b", "torch@cu13+cpu"
)  # fmt: skip
NO_PYTHONS = ("jax+python=", "jax+python=3", "jax+python=2.7", "jax+python=3.13/x", "jax+python=3.13+python=3.11")


@pytest.mark.parametrize("text", [*NO_VERSIONS, *NO_PYTHONS])
def test_what_names_no_version_or_python_says_how_to_write_one(text: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        parse(text)
    assert text in caught.value.message
    assert ("jax+python=3.13" if text in NO_PYTHONS else "@1.30.0") in caught.value.fix


@given(st.text(max_size=30))
def test_no_text_reaches_a_file_outside_its_folder(text: str) -> None:
    try:
        found = parse(f"onnxruntime@{text}")
    except LevelfieldError:
        return
    spelled = suffix(found.variant, found.version)
    assert "/" not in spelled
    assert ".." not in spelled.removeprefix("@")[:2]
