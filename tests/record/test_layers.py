"""`layers.json`, written and read as a stranger's."""

from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.record import layers
from tests.layered import digest, launch, layered


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = layered(launch(digest("out")), launch(digest("out")))
    layers.write(found, tmp_path / "layers.json")
    assert layers.read(tmp_path / "layers.json", "it") == found
    assert found.question == "mlp/fp32/b1/t2/cpu"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"levelfield-layers-1"', b'"levelfield-layers-2"'),
        (b'"batch":1', b'"batch":0'),
        (b'"batch":1', b'"batch":1e400'),
        (digest("linear").encode(), b"0" * 63),
        (b'"linear"', b'""'),
        (b'"launches":[', b'"launches":[[' + b"[" * 2000),
    ],
)
def test_anything_else_ends_in_one_sentence(old: bytes, new: bytes) -> None:
    content = msgspec.json.encode(layered(launch(digest("out"))))
    assert old in content
    with pytest.raises(LevelfieldError, match=r"^it holds no layers as `levelfield layers` writes them"):
        layers.decode(content.replace(old, new), "it")


def test_a_link_a_folder_and_a_long_file_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "layers.json"
    layers.write(layered(launch(digest("out"))), file)
    (tmp_path / "link.json").symlink_to(file)
    with pytest.raises(LevelfieldError, match="link cannot be read"):
        layers.read(tmp_path / "link.json", "link", follow_links=False)
    with pytest.raises(LevelfieldError, match="folder cannot be read"):
        layers.read(tmp_path, "folder")
    monkeypatch.setattr(layers, "MOST_BYTES", 100)
    with pytest.raises(LevelfieldError, match="it is longer than 100 bytes"):
        layers.read(file, "it")
    with pytest.raises(LevelfieldError, match="cannot be written"):
        layers.write(layered(launch(digest("out"))), tmp_path)
