"""What every backend refuses, in the same words."""

from pathlib import Path

import msgspec
import pytest

from levelfield.backends.checks import require_decoding, require_file
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


def test_a_cache_that_grows_is_refused_where_shapes_are_fixed() -> None:
    source = DecodingSource("decoder", 1, {}, tokens=1, prompt=5)
    for backend in ("jax", "torch"):
        model, decoding = require_decoding(backend, source, Options(1))
        assert model.decoding == decoding
    growing = msgspec.structs.replace(source, growing=True)
    require_decoding("torch", growing, Options(1))
    with pytest.raises(Unsupported, match="jax keeps no growing cache here"):
        require_decoding("jax", growing, Options(1))
