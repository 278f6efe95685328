from pathlib import Path

import numpy as np
import pytest

from levelfield.zoo import models, weights

MLP = models.get("mlp")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mlp", "31dd8d9244f445637ca16216f3d5fe434cd996d3b775e3cefe24fec682ce21d0"),
        ("resnet50", "c4dabe5b7807109302c95ace43b95002f3513157cd12db8de1ff24f86159513f"),
        ("bert", "769667166755d05c0fe6a14ebae81586b6cceab0b9c92627d074be1120ee2050"),
        ("canary", "4db196cb78d7cd0b62aa61e65e3370df44df1f2b1baa8e22ff379bda18bf46d7"),
    ],
)
def test_the_weights_are_the_ones_they_always_were(name: str, expected: str, request: pytest.FixtureRequest) -> None:
    large = name in {"bert", "resnet50"}  # made once for all tests
    made = request.getfixturevalue(f"{name}_weights") if large else weights.make(models.get(name))
    assert weights.sha256(made) == expected


def test_the_digest_sees_names_types_shapes_and_values_but_not_memory_order() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    digest = weights.sha256({"a": array})
    assert weights.sha256({"a": np.asfortranarray(array)}) == digest
    changed = array.copy()
    changed[0, 0] = -0.0
    others: list[weights.Arrays] = [
        {"b": array},
        {"a": array.reshape(3, 2)},
        {"a": array.astype(np.float64)},
        {"a": changed},
    ]
    assert digest not in {weights.sha256(other) for other in others}


def test_a_saved_file_is_mapped_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "mlp.weights"
    weights.save(MLP, path)
    loaded = weights.load(path, MLP)
    assert weights.sha256(loaded) == weights.sha256(weights.make(MLP))
    assert list(loaded) == [parameter.name for parameter in MLP.parameters]
    assert [file.name for file in tmp_path.iterdir()] == ["mlp.weights"]


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    weights.save(MLP, path)
    with pytest.raises(ValueError, match=r"holds weights of mlp .* not of canary.* Delete"):
        weights.load(path, models.get("canary"))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match="has 151040 bytes and should have 151044"):
        weights.load(path, MLP)
    for content in (b"", b"[]", b"\x00" * 5000, b'{"format": "other"}'):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a weights file"):
            weights.load(path, MLP)
