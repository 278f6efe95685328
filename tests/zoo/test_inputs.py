import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelfield.zoo import inputs, models, weights
from levelfield.zoo.spec import Model, Own, OwnInput
from levelfield.zoo.weights import sha256

ALL = [models.get(name) for name in (*models.names(), "canary")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mlp", "ee263aa88b101dafe4b5cf037827b24aefe62f305b796b931905d29d0c4ceeab"),
        ("resnet50", "5bf647d900d1434640f481445f0bcb1ae2644f05a76f58bd570590b1b595b9bd"),
        ("bert", "410cdbf05f40ea83556475bc0a1738665a7f885a11645a59c794b09abedfe27f"),
        ("canary", "4715f22cd3059c9a0cd17fdf6dbcc310baf06be5c393ca5275e0c35f2c7dad54"),
    ],
)
def test_the_inputs_are_the_ones_they_always_were(name: str, expected: str) -> None:
    assert weights.sha256(inputs.make(models.get(name), 0, 3)) == expected


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.name)
def test_an_input_does_not_depend_on_its_batch(model: Model) -> None:
    whole, part = inputs.make(model, 0, 5), inputs.make(model, 3, 2)
    for tensor in model.inputs:
        assert whole[tensor.name].shape == (5, *tensor.shape)
        assert whole[tensor.name].dtype == tensor.dtype
        np.testing.assert_array_equal(whole[tensor.name][3:], part[tensor.name])


def test_layout_changes_memory_and_nothing_else() -> None:
    model = models.get("resnet50")
    first, last = inputs.make(model, 0, 2), inputs.make(model, 0, 2, layout="NHWC")
    np.testing.assert_array_equal(first["images"], last["images"])
    assert first["images"].flags.c_contiguous
    assert last["images"].transpose(0, 2, 3, 1).flags.c_contiguous
    assert weights.sha256(first) == weights.sha256(last)
    assert inputs.make(models.get("mlp"), 0, 2, layout="NHWC")["features"].flags.c_contiguous


def test_sentences_are_well_formed() -> None:
    batch = inputs.make(models.get("bert"), 0, 64)
    lengths = batch["attention_mask"].sum(axis=1)
    assert lengths.min() >= 32
    assert lengths.max() <= 128
    assert len(set(lengths.tolist())) > 20
    for ids, types, mask in zip(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], strict=True):
        length = int(mask.sum())
        assert mask[:length].all()
        assert (ids[0], ids[length - 1]) == (101, 102)
        assert (ids[:length] == 102).sum() == 2
        assert (ids[length:] == 0).all()
        assert (types[length:] == 0).all()
        # The second sentence begins after the first [SEP].
        assert types[:length].tolist() == [0] * (int(np.argmax(ids == 102)) + 1) + [1] * int(types.sum())
        words = ids[(ids != 0) & (ids != 101) & (ids != 102)]
        assert words.min() >= 1000
        assert words.max() < 30522


MODEL = Own(
    (
        OwnInput("x", "float32", (3, 4), batched=True),
        OwnInput("ids", "int64", (7,), batched=True),
        OwnInput("k", "float16", (2,), batched=False),
    )
)


def test_the_same_bits_as_ever() -> None:
    assert sha256(inputs.make_own(MODEL, 0, 2)) == "abb610455e9ebff1f3901b0d0024e4ea0f47332dfc73100bd492617d6f2f69b6"


def test_an_item_does_not_depend_on_its_batch() -> None:
    two, four = inputs.make_own(MODEL, 2, 2), inputs.make_own(MODEL, 0, 4)
    for name in ("x", "ids"):
        np.testing.assert_array_equal(two[name], four[name][2:])
    assert not np.array_equal(four["x"][0], four["x"][1])


def test_values_of_ones_own_are_taken_in_turn(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    batched = Own((OwnInput("x", "float32", (2,), batched=True, path=str(tmp_path / "x.npy")),))
    np.testing.assert_array_equal(inputs.make_own(batched, 2, 2)["x"], [[4, 5], [0, 1]])
    whole = Own((OwnInput("x", "float32", (3, 2), batched=False, path=str(tmp_path / "x.npy")),))
    for start in (0, 1):
        found = inputs.make_own(whole, start, 1)["x"]
        np.testing.assert_array_equal(found, np.arange(6).reshape(3, 2))
        assert type(found) is np.ndarray, "not a view of the file"


@pytest.mark.parametrize(
    "header",
    [
        *(
            f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"
            for shape in ("(9223372036854775808,)", "(True, 8)", "((((8,),),),)", "(8,", "(3, 2)", "(0, 2)", "(-1, 2)")
        ),
        "{'descr': '|O', 'fortran_order': False, 'shape': (1, 2), }", "{'fortran_order': False, 'shape': (1, 2), }",
        "(((", "-" * 9000 + "1", "{" * 60_000, "", "__import__('os').abort()",
        "{'descr': '<f4', 'shape': (" + " " * 9000,
    ],
    ids=lambda header: header[-40:].strip(),
)  # fmt: skip
def test_a_file_of_values_is_read_or_refused_in_a_sentence(tmp_path: Path, header: str) -> None:
    (tmp_path / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"\0" * 16
    )
    with pytest.raises(ValueError, match=r"^It (holds|is|says).*\.$"):
        inputs.read(tmp_path / "x.npy", OwnInput("x", "float32", (2,), batched=True))


@pytest.mark.parametrize("array", [np.asfortranarray([[1, 2], [3, 4]], ">f4"), np.ones((5, 2), np.float32)])
def test_what_numpy_saves_is_read(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    np.save(tmp_path / "x.npy", array)
    found = inputs.read(tmp_path / "x.npy", OwnInput("x", "float32", (2,), batched=True))
    np.testing.assert_array_equal(found, array)
