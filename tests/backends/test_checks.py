"""What every backend refuses, in the same words."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.backends.checks import images_last, require_decoding, require_file, require_names
from levelfield.backends.decoding import DecodingSource
from levelfield.backends.protocol import Options, Source, Unsupported


def test_an_onnx_file_must_be_given_and_be_there(tmp_path: Path) -> None:
    source = Source("mlp", 1, {}, {})
    with pytest.raises(Unsupported, match="was given none: export mlp first"):
        require_file("openvino", source)
    path = tmp_path / "model.onnx"
    with pytest.raises(Unsupported, match="is not there: export mlp again"):
        require_file("openvino", Source("mlp", 1, {}, {}, path))
    path.write_bytes(b"")
    assert require_file("openvino", Source("mlp", 1, {}, {}, path)) == path


def test_a_file_of_another_model_is_refused() -> None:
    require_names("openvino", ["a", "b"], ["b", "a"])
    with pytest.raises(Unsupported, match="inputs images and needs features"):
        require_names("openvino", ["features"], ["images"])


def test_a_cache_that_grows_is_refused_where_shapes_are_fixed() -> None:
    source = DecodingSource("decoder", 1, {}, tokens=1, prompt=5)
    for backend in ("jax", "torch"):
        model, decoding = require_decoding(backend, source, Options(1))
        assert model.decoding == decoding
    growing = msgspec.structs.replace(source, growing=True)
    require_decoding("torch", growing, Options(1))
    with pytest.raises(Unsupported, match="jax keeps no growing cache here"):
        require_decoding("jax", growing, Options(1))


def test_images_are_shown_with_their_channels_last() -> None:
    images = np.zeros((2, 3, 4, 5))
    assert images_last(images).shape == (2, 4, 5, 3)
    assert images_last(images).base is images
    assert images_last(images[0]).shape == (3, 4, 5)
