"""`levelfield images` as people type it."""

from pathlib import Path

import pytest

from tests.commands import Called, call, one_clear_sentence
from tests.images.bundles import bundle, entry, manifest

WHEEL = "wheels/one-1.0-py3-none-any.whl"


def unbundle(folder: Path, *words: str | Path) -> Called:
    return call("images", "load", *words, folder=folder, environment={"LEVELFIELD_CACHE": str(folder / "cache")})


def test_what_was_taken_in_is_counted_and_pip_is_told_where_it_is(tmp_path: Path) -> None:
    path = bundle(tmp_path, manifest(WHEEL), entry(WHEEL))
    first = unbundle(tmp_path, path)
    assert first.code == 0, first.err
    assert first.out.startswith("1 files are in the cache; 0 of them were there before.")
    assert f"PIP_NO_INDEX=1 PIP_FIND_LINKS={tmp_path / 'cache' / 'wheels'}" in first.out
    assert unbundle(tmp_path, path).out.startswith("1 files are in the cache; 1 of them were there before.")


def test_a_bundle_of_another_version_says_so(tmp_path: Path) -> None:
    command = unbundle(tmp_path, bundle(tmp_path, manifest(tool_version="\x1b[2J")))
    assert command.code == 0, command.err
    assert "other files may be needed here" in command.out
    assert "\x1b" not in command.out


@pytest.mark.parametrize(("name", "says"), [("gone.tar", "gone.tar"), ("rubbish.tar", "rubbish.tar")])
def test_what_is_no_bundle_is_one_sentence(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "rubbish.tar").write_bytes(b"rubbish")
    one_clear_sentence(unbundle(tmp_path, name), says)


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("onnxruntim", "Did you mean 'onnxruntime'"),
        ("onnxruntime@0.0.1", "0.0.1"),
        ("../../etc", "../../etc"),
    ],
)
def test_an_image_that_is_not_there_is_found_before_anything_is_fetched(tmp_path: Path, image: str, says: str) -> None:
    nowhere = {"LEVELFIELD_CACHE": str(tmp_path / "cache"), "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    command = call("images", "bundle", "out.tar", image, folder=tmp_path, environment=nowhere)
    one_clear_sentence(command, says)
    assert not (tmp_path / "out.tar").exists()


def test_a_bundle_is_no_folder(tmp_path: Path) -> None:
    command = call("images", "bundle", tmp_path, "canary", folder=tmp_path)
    assert command.code == 2
    assert "is a directory" in command.err
