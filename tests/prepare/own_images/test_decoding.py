"""Pixels from files: the right ones, or one sentence, whatever a stranger wrote into them."""

import importlib.util
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.prepare.own_images.decoding import UnreadableError, decode
from tests.prepare.own_images import pictures

IMAGE = pictures.picture(np.random.default_rng(5), (10, 100, 200))


def npy(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def test_plain_formats_give_the_same_pixels() -> None:
    assert np.array_equal(decode(npy(IMAGE), ".npy"), IMAGE)
    assert np.array_equal(decode(npy(np.asfortranarray(IMAGE)), ".NPY"), IMAGE)
    assert np.array_equal(decode(pictures.ppm(IMAGE), ".ppm"), IMAGE)


def test_grey_is_three_times_the_same() -> None:
    grey = IMAGE[:, :, 0]
    expected = np.repeat(grey[:, :, None], 3, axis=2)
    pgm = b"P5 %d\n# %d\n%d\t255\n" % (grey.shape[1], 7, grey.shape[0]) + grey.tobytes()
    for content, suffix in ((npy(grey), ".npy"), (npy(grey[:, :, None]), ".npy"), (pgm, ".pgm")):
        assert np.array_equal(decode(content, suffix), expected)


@pytest.mark.parametrize(
    ("content", "suffix", "says"),
    [
        (b"", ".npy", "no NumPy file"),
        (npy(IMAGE)[:-1], ".npy", "not as long as its header says"),
        (npy(IMAGE) + b"x", ".npy", "not as long as its header says"),
        (npy(IMAGE.astype(np.float32)), ".npy", "3 dimensions of float32"),
        (npy(np.zeros((2, 2, 2, 3), np.uint8)), ".npy", "4 dimensions of uint8"),
        (npy(np.zeros((2, 2, 4), np.uint8)), ".npy", "its shape is 2×2×4"),
        (npy(np.zeros((0, 2), np.uint8)), ".npy", "not as long as its header says"),
        (npy(np.zeros((1, 20_000), np.uint8)), ".npy", "its sides are 1 and 20000 pixels"),
        (npy("text"), ".npy", "0 dimensions of <U4"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': '|u1'}", ".npy", "no NumPy file"),
        (b"P3\n1 1\n255\n1 2 3", ".ppm", "no binary PGM or PPM"),
        (b"P6\n2 2\n255\n" + bytes(11), ".ppm", "not as long as its header says"),
        (b"P6\n2 2\n65535\n" + bytes(24), ".ppm", "its values go up to 65535"),
        (b"P6\n0 2\n255\n", ".ppm", "not as long as its header says"),
        (b"P6" + b" " * 100_000, ".ppm", "no binary PGM or PPM"),
        (b"P6" + b"#\n" * 100_000, ".ppm", "no binary PGM or PPM"),
    ],
)
def test_what_is_no_image_is_one_sentence(content: bytes, suffix: str, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        decode(content, suffix)


@given(st.binary(max_size=300), st.sampled_from([".npy", ".ppm", ".pgm"]), st.sampled_from([b"", b"P6\n2 ", b"P5 "]))
def test_whatever_a_file_holds_it_is_an_image_or_a_sentence(content: bytes, suffix: str, begin: bytes) -> None:
    try:
        image = decode(begin + content, suffix)
    except UnreadableError:
        return
    assert image.dtype == np.uint8
    assert image.shape[2] == 3


@given(st.integers(0, len(npy(IMAGE)) - 1), st.integers(0, 255))
def test_a_spoiled_array_is_an_image_or_a_sentence(place: int, byte: int) -> None:
    content = bytearray(npy(IMAGE))
    content[place] = byte
    try:
        assert decode(bytes(content), ".npy").shape[2] == 3
    except UnreadableError:
        return


@pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="not installed: Pillow")
def test_pillow_reads_the_other_formats() -> None:
    from PIL import Image

    for kind in ("PNG", "BMP", "TIFF"):
        file = io.BytesIO()
        Image.fromarray(IMAGE).convert("RGBA" if kind == "PNG" else "RGB").save(file, kind)
        assert np.array_equal(decode(file.getvalue(), f".{kind.lower()}"), IMAGE)
        with pytest.raises(UnreadableError, match="Pillow finds no image in it"):
            decode(file.getvalue()[: len(file.getvalue()) // 3], f".{kind.lower()}")
