"""The part of the package that runs inside: which files, and their digest."""

from pathlib import Path

import pytest

from levelfield.images import worker_code


def test_the_folder_is_made_once_and_holds_the_files(cache: Path) -> None:
    folder = worker_code.folder()
    contents = worker_code.files()
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == contents.keys()
    assert (folder / "levelfield/worker/server.py").read_bytes() == contents["levelfield/worker/server.py"]
    assert worker_code.folder() == folder
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith("draft-")] == []


@pytest.mark.parametrize("changed", [{"a": b"2"}, {"b": b"1"}, {"a": b"1", "b": b""}, {}])
def test_names_and_contents_decide_the_digest(changed: dict[str, bytes]) -> None:
    assert worker_code.digest(changed) != worker_code.digest({"a": b"1"})
