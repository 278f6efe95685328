"""What is in a folder, how it is split, and every folder that cannot be trained on: one sentence each."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from suite.prepare.own_images import decoding, listing
from suite.prepare.own_images.listing import UnusableError, list_images
from tests.prepare.own_images import pictures

BATCH = 64


def refusal(folder: Path) -> str:
    with pytest.raises(UnusableError) as caught:
        list_images(folder, BATCH)
    said = str(caught.value)
    assert said.endswith((".", ")"))
    assert "\n" not in said
    assert said.isprintable()
    said.encode()
    return said


def test_both_forms_are_found(tmp_path: Path) -> None:
    two = list_images(pictures.two_sided(tmp_path / "two"), BATCH)
    assert two.classes == ("blue", "green", "red")
    assert (len(two.trained), len(two.tested)) == (72, 24)
    assert {entry.label for entry in two.tested} == {0, 1, 2}
    assert all(entry.name.startswith("val/") == entry.tested for entry in two.entries)
    one = list_images(pictures.one_level(tmp_path / "one"), BATCH)
    assert (len(one.trained), len(one.tested)) == (72, 18)
    assert [sum(entry.label == label for entry in one.tested) for label in range(3)] == [6, 6, 6]


def test_the_split_depends_on_names_alone_and_is_always_the_same(tmp_path: Path) -> None:
    first, second = pictures.one_level(tmp_path / "a"), pictures.one_level(tmp_path / "b")
    for file in second.glob("*/*.ppm"):
        file.write_bytes(b"other")
    assert list_images(first, BATCH).entries == list_images(second, BATCH).entries
    (first / "red" / ".DS_Store").write_bytes(b"x")
    (first / "README.md").write_bytes(b"x")
    assert list_images(first, BATCH).entries == list_images(second, BATCH).entries, (
        "hidden files and what stands beside is left out"
    )
    assert [entry.name for entry in list_images(first, BATCH).tested if entry.label == 0] == [
        f"blue/{name}" for name in TESTED
    ], "a change of this list makes other data of every folder"


TESTED = ("0.ppm", "19.npy", "20.ppm", "21.npy", "26.ppm", "9.npy")


def test_the_digest_is_that_of_sha256sum(tmp_path: Path) -> None:
    folder = pictures.two_sided(tmp_path / "two")
    (folder / "train" / "red" / "é ï.npy").write_bytes((folder / "train" / "red" / "1.npy").read_bytes())
    names = [entry.name for entry in list_images(folder, BATCH).entries]
    lines = subprocess.run(["sha256sum", "--", *names], cwd=folder, capture_output=True, check=True).stdout
    whole = subprocess.run(["sha256sum"], input=lines, capture_output=True, check=True).stdout.decode().split()[0]
    sums = {line[66:].decode(): line[:64].decode() for line in lines.splitlines()}
    assert listing.digest(reversed(sums.items())) == whole
    assert listing.digest((sums | {names[0]: "0" * 64}).items()) != whole


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _one_class(folder: Path) -> None:
    for side in ("train", "val"):
        for name in ("green", "red"):
            shutil.rmtree(folder / side / name)


def _few(folder: Path) -> None:
    for number in range(10):
        for file in (folder / "train").glob(f"*/{number}.*"):
            file.unlink()


def _nothing_to_train(folder: Path) -> None:
    for file in (folder / "train" / "red").iterdir():
        file.unlink()


def _one_picture(folder: Path) -> None:
    shutil.move(folder / "val", folder.parent / "val")
    shutil.move(folder / "train", folder.parent / "train")
    folder.rmdir()
    shutil.move(folder.parent / "train", folder)
    (folder / "white").mkdir()
    np.save(folder / "white" / "1.npy", np.zeros((4, 4), np.uint8))


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, "There is no folder “mine” to train on."),
    (_empty, "The folder is empty"),
    (_one_class, "There is one class (“blue”)"),
    (_few, "There are 42 images to train on, and one step takes 64."),
    (_nothing_to_train, "The class “red” has no images to train on."),
    (_one_picture, "The class “white” has 1 images: one to train on and one to test with"),
    (lambda folder: (folder / "val" / "grey").mkdir(), "The class “grey” is in val/ and not in train/."),
    (lambda folder: (folder / "train" / "red" / "more").mkdir(), "“train/red/more” is a folder inside of a class"),
    (lambda folder: (folder / "train" / "red" / "a.txt").write_bytes(b""), "it is no image by its name"),
    (lambda folder: (folder / "train" / "red" / "a").write_bytes(b""), "“train/red/a” cannot be read"),
    (lambda folder: os.mkfifo(folder / "train" / "red" / "a.npy"), "“train/red/a.npy” is no ordinary file."),
    (lambda folder: (folder / "train" / "red" / "a.npy").symlink_to("/etc/passwd"), "a link that leaves the folder."),
    (lambda folder: (folder / "train" / "x").symlink_to("/etc"), "“train/x” is a link that leaves the folder."),
    (lambda folder: (folder / "train" / "red" / "a.npy").symlink_to("a.npy"), "“train/red/a.npy” cannot be read"),
    (lambda folder: (folder / "train" / "red" / "a.npy").symlink_to("gone"), "it is a link to nothing"),
    (lambda folder: (folder / "train" / "red" / "a\x1b[31m\n.txt").write_bytes(b""), "“train/red/a\ufffd[31m\ufffd"),
    (lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/train/red/\xff.txt")).touch(), "“train/red/\ufffd.txt”"),
    (lambda folder: (folder / "train" / "red" / ("a" * 200 + ".txt")).touch(), "aaa…”"),
]


@pytest.mark.parametrize(("spoil", "says"), REFUSED, ids=range(len(REFUSED)))
def test_a_folder_that_cannot_be_trained_on_is_one_sentence(
    tmp_path: Path, spoil: Callable[[Path], object], says: str
) -> None:
    folder = pictures.two_sided(tmp_path / "mine")
    spoil(folder)
    assert says in refusal(folder)


def test_links_inside_of_the_folder_are_followed(tmp_path: Path) -> None:
    folder = pictures.two_sided(tmp_path / "mine")
    (folder / "train" / "red" / "again.npy").symlink_to("1.npy")
    (tmp_path / "link").symlink_to(folder)
    found = list_images(tmp_path / "link", BATCH)
    assert len(found.trained) == 73
    assert found.folder == folder.resolve()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.bin"
    np.arange(100, dtype=np.uint16).tofile(tokens)
    assert "token files are not trained on" in refusal(tokens)
    (tmp_path / "cat.jpg").write_bytes(b"")
    assert refusal(tmp_path / "cat.jpg") == "“cat.jpg” is no folder of images."


def test_too_many_images_are_refused_and_too_many_tests_drawn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pictures.two_sided(tmp_path / "mine")
    everything = list_images(folder, BATCH).tested
    monkeypatch.setattr(listing, "MOST_TESTED", 10)
    drawn = list_images(folder, BATCH).tested
    assert len(drawn) == 10
    assert set(drawn) < set(everything)
    assert len(list_images(folder, BATCH).entries) == 96
    monkeypatch.setattr(listing, "MOST_IMAGES", 95)
    assert "There are 96 images" in refusal(folder)
    monkeypatch.setattr(listing, "MOST_CLASSES", 2)
    assert refusal(folder) == "There are 3 classes, and 2 at the most can be trained on."


def test_without_a_decoder_other_formats_are_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pictures.two_sided(tmp_path / "mine")
    (folder / "train" / "red" / "a.PNG").write_bytes(b"")
    monkeypatch.setattr(decoding, "_has_pillow", lambda: False)
    assert "“train/red/a.PNG” cannot be read: PNG takes Pillow. Install `levelfield[pictures]`" in refusal(folder)
