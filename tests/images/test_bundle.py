"""A bundle: what goes in comes out in another cache, and nothing else does."""

import hashlib
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import bundle as bundle_module
from levelfield.images.bundle import FORMAT, MANIFEST, File, Manifest, pack, unpack
from levelfield.images.catalogue import image
from levelfield.images.debian import lock_path
from levelfield.paths import images_root
from levelfield.record.references import Reference
from tests.commands import ROOT
from tests.images.bundles import CONTENT, bundle, entry, locks_that_name, manifest

WHEEL, GOOD = "wheels/one-1.0-py3-none-any.whl", "wheels/one.whl"
DEB, TOOL = "debs/libc6_2.36-9%3a1_amd64.deb", "wheels/tool-1.0-py3-none-any.whl"


@pytest.fixture
def cache(cache: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and locks that name some files."""
    locks_that_name(WHEEL, GOOD, DEB, TOOL, folder=tmp_path_factory.mktemp("locked"), patch=monkeypatch)
    return cache


def test_what_is_named_and_right_is_taken_in_once(cache: Path, tmp_path: Path) -> None:
    names = (WHEEL, DEB, TOOL)
    path = bundle(tmp_path, manifest(*names), *(entry(name) for name in names))
    assert (found := unpack(path)).files == 3
    assert (found.already_cached, found.left_out) == (0, ())
    for name in names:
        assert (cache / name).read_bytes() == CONTENT
    assert unpack(path).already_cached == 3


@pytest.mark.parametrize("name", ["wheels/one-2.0-py3-none-any.whl", "wheels/tool-999-py3-none-any.whl", "debs/x.deb"])
def test_what_no_lock_names_is_left_out_whatever_it_holds(cache: Path, tmp_path: Path, name: str) -> None:
    found = unpack(bundle(tmp_path, manifest(name, WHEEL), entry(name), entry(WHEEL)))
    assert (found.files, found.left_out) == (1, (name,))
    assert not (cache / name).exists()
    assert (cache / WHEEL).read_bytes() == CONTENT


@pytest.mark.parametrize("name", [WHEEL, DEB])
def test_a_file_of_another_size_than_its_lock_names_is_left_out_unread(cache: Path, tmp_path: Path, name: str) -> None:
    listed = manifest(name)
    listed["files"][0]["size_bytes"] = 1 << 20
    assert unpack(bundle(tmp_path, listed, entry(name, bytes(1 << 20)))).left_out == (name,)


@pytest.mark.parametrize("name", [WHEEL, TOOL, DEB])
def test_what_is_right_in_the_cache_is_never_replaced(cache: Path, tmp_path: Path, name: str) -> None:
    listed = manifest(files=[{"name": name, "sha256": hashlib.sha256(b"bad").hexdigest(), "size_bytes": 3}])
    assert unpack(bundle(tmp_path, listed, entry(name, b"bad"))).left_out == (name,)
    assert not (cache / name).exists()
    unpack(bundle(tmp_path, manifest(name), entry(name)))
    assert unpack(bundle(tmp_path, listed, entry(name, b"bad"))).left_out == (name,)
    assert (cache / name).read_bytes() == CONTENT
    (cache / name).write_bytes(b"damaged")
    assert unpack(bundle(tmp_path, manifest(name), entry(name))).already_cached == 0
    assert (cache / name).read_bytes() == CONTENT


def test_every_hash_of_the_locks_is_known() -> None:
    known = bundle_module._Locks()
    hashes = {each[-1] for each in (*known._files, *known._of_tool)}
    paths = [*(images_root() / "tool").glob("*.lock"), lock_path(), lock_path("trixie")]
    for path in (*paths, *(path for name in ("torch", "jax") for path in image(name).locks.glob("*.lock"))):
        named = set(re.findall(r"\b[0-9a-f]{64}\b", path.read_text()))
        assert named, path
        assert named <= hashes, path


def test_a_sparse_file_of_a_few_bytes_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    name = "wheels/one-1.0-py3-none-any.whl"
    with (tmp_path / name).open("wb") as file:
        file.truncate(300_000_000)
    (tmp_path / "manifest.json").write_bytes(
        msgspec.json.encode(Manifest(FORMAT, "1", (File(name, "0" * 64, 300_000_000),)))
    )
    path = tmp_path / "bundle"
    subprocess.run(["tar", "-cSf", path, "-C", tmp_path, "manifest.json", name], check=True)
    assert path.stat().st_size < 100_000
    with pytest.raises(LevelfieldError, match="which its manifest does not name"):
        unpack(path)
    assert not any(file.is_file() for file in cache.rglob("*.whl"))


@pytest.mark.parametrize(
    "name",
    [
        "wheels/../../outside.whl", "/etc/passwd", "wheels/.hidden", "venvs/python", "wheels/" + "x" * 300,
        "wheels/a\nb",
    ],
)  # fmt: skip
def test_nothing_gets_out_of_the_cache(cache: Path, tmp_path: Path, name: str) -> None:
    path = bundle(tmp_path, manifest(name), entry(name))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(LevelfieldError, match="which no bundle holds"):
        unpack(path)
    assert [each for each in sorted(tmp_path.rglob("*")) if cache not in each.parents and each != cache] == before


def link(made: tarfile.TarInfo) -> tuple[tarfile.TarInfo, bytes]:
    made.type, made.linkname, made.size = tarfile.SYMTYPE, "/etc/passwd", 0
    return made, b""


@pytest.mark.parametrize(
    ("listed", "entries", "says"),
    [
        (manifest(GOOD), [entry(GOOD, b"another")], "is not the file that its manifest names"),
        (manifest(GOOD), [entry(GOOD, b"longer than that")], "which its manifest does not name"),
        (manifest(GOOD), [link(tarfile.TarInfo(GOOD))], "which its manifest does not name"),
        (manifest(GOOD), [entry(GOOD), entry(GOOD)], "which its manifest does not name"),
        (manifest(GOOD), [entry(GOOD), entry("wheels/two.whl")], "which its manifest does not name"),
        (manifest(GOOD), [], "was cut off: 1 file is missing"),
        (manifest(GOOD, format="levelfield-bundle-9"), [entry(GOOD)], "this Levelfield reads levelfield-bundle-1"),
        ({"format": FORMAT}, [], "The manifest of .* cannot be read"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    cache: Path, tmp_path: Path, listed: dict[str, Any], entries: list[Any], says: str
) -> None:
    with pytest.raises(LevelfieldError, match=says):
        unpack(bundle(tmp_path, listed, *entries))
    assert not list(cache.glob("downloads/[!.]*"))
    assert not list(cache.glob("wheels/two.whl"))


def headers(kind: bytes, content: bytes, count: int = 1, size: int | None = None) -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, len(content) if size is None else size
    return (header.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)) * count


@pytest.mark.parametrize(
    "hostile",
    [
        headers(tarfile.XHDTYPE, b"9" * (1 << 20)),  # a regular expression takes the square of it
        headers(tarfile.XHDTYPE, b"", size=1 << 40),
        headers(tarfile.GNUTYPE_LONGNAME, b"", size=1 << 40),
        headers(tarfile.XHDTYPE, b"9 x=1234\n", count=2_000),
        headers(tarfile.XGLTYPE, b"9 x=1234\n"),
    ],
    ids=["long", "endless", "a name without end", "many", "for all"],
)
def test_headers_are_bounded(cache: Path, tmp_path: Path, hostile: bytes) -> None:
    path = bundle(tmp_path, manifest(GOOD))
    content = path.read_bytes().rstrip(b"\0")
    end = content + bytes(-len(content) % 512) + hostile
    with path.open("wb") as file:
        file.write(end + entry(GOOD)[0].tobuf() + CONTENT.ljust(512, b"\0"))
        file.truncate(1 << 41)
    before = time.process_time()
    with pytest.raises(LevelfieldError, match=r"is no bundle, or was cut off|which its manifest does not name"):
        unpack(path)
    assert time.process_time() - before < 2


@pytest.mark.extended
def test_a_real_bundle_is_enough_for_pip_with_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary's wheels and the tool's own, fetched, bundled, taken in elsewhere, and installed with no network."""
    out = tmp_path / "bundle.tar"
    made = pack([Reference("canary")], out)
    with tarfile.open(out) as opened:
        listed = msgspec.json.decode(opened.extractfile(MANIFEST).read(), type=Manifest)  # type: ignore[union-attr]
        opened.extractall(tmp_path, [each for each in opened if each.name.startswith("wheels/")], filter="data")
    assert listed == made
    assert any(file.name.startswith("debs/") for file in made.files)
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "elsewhere"))
    assert unpack(out).files == len(made.files)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / ".venv"], check=True)
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "wheels").as_uri())
    install: list[str | Path] = [tmp_path / ".venv" / "bin" / "pip", "install", "--quiet", "--no-index", ROOT]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
