"""Tensors come back as they were written; a header is believed only as far as the file goes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelfield.prepare.own_weights.safetensors_format import MOST_HEADER_BYTES, Mapped
from tests.prepare.own_weights.saved import framed, safetensors


def mapped(path: Path, content: bytes) -> Mapped:
    path.write_bytes(content)
    with path.open("rb") as file:
        return Mapped(file)


def header(**tensors: Any) -> bytes:
    return json.dumps(tensors).encode()


def stored(begin: int, end: int, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_tensors_become_float32_without_rounding(tmp_path: Path) -> None:
    exact = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
    half = exact.astype(np.float16)
    brain = (exact.view(np.uint32) >> 16).astype(np.uint16)
    found = mapped(tmp_path / "x", safetensors({"exact": exact, "half": half, "brain": brain}))
    for name in ("exact", "half", "brain"):
        array = found.read(name)
        assert array.dtype == np.float32
        assert np.array_equal(array, exact)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "too short"),
        (b"\x00" * 7, "too short"),
        (b"\x00" * 16, "too short"),
        ((MOST_HEADER_BYTES + 1).to_bytes(8, "little") + b"{}" * 8, "are the most"),
        ((2**63).to_bytes(8, "little") + b"{}", "are the most"),
        ((100).to_bytes(8, "little") + b"{}", "the file has"),
        (framed(b"[]"), "no JSON object"),
        (framed(b"\x80\x02}q\x00."), "no JSON object"),
        (framed(b'{"x": 1}'), "cannot be read"),
        (framed(b'{"x": ' + b"[" * 100_000), "cannot be read"),
        (framed(b'{"\xff": {}}'), "cannot be read"),
        (framed(header(x=stored(0, 8, [3])), b"\0" * 8), "not as many bytes"),
        (framed(header(x=stored(0, 4, [-1])), b"\0" * 4), "cannot be read"),
        (framed(header(x=stored(0, 4, [1] * 9)), b"\0" * 4), "cannot be read"),
        (framed(header(x=stored(0, 1 << 60, [1])), b"\0" * 4), "cannot be read"),
        (framed(header(x=stored(4, 8, [1])), b"\0" * 8), "overlaps another, or leaves a hole"),
        (framed(header(x=stored(0, 4, [1]), y=stored(0, 4, [1])), b"\0" * 4), "overlaps another"),
        (framed(header(x=stored(0, 4, [1])), b"\0" * 3), "may be cut off"),
        (framed(header(x=stored(0, 4, [1])), b"\0" * 9), "may be cut off"),
        (framed(header(x=stored(0, 0, [1 << 40, 1 << 40, 1 << 40]))), "not as many bytes"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        mapped(tmp_path / "x", content)
