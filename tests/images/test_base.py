"""The base of an image: made again with the same bytes, or pulled from a registry by digest."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import base, debian
from levelfield.images.build import build, recipe
from levelfield.record.bases import BaseLock
from tests.share.evidence import image


def _name_base(checkout: Path, reference: str) -> None:
    (checkout / "images" / "base" / "registry.toml").write_text(f'[slim]\nreference = "{reference}"\n')


@pytest.mark.docker
def test_a_registry_that_does_not_answer_is_never_replaced(checkout: Path) -> None:
    _name_base(checkout, f"127.0.0.1:9/base@sha256:{'0' * 64}")
    steps: list[str] = []
    with pytest.raises(LevelfieldError, match="cannot be pulled"):
        build("canary", base_source="registry", progress=steps.append)
    assert not any("Debian" in step for step in steps)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "own"), [("canary", "slim"), pytest.param("jax", "slim-trixie", marks=pytest.mark.extended)]
)
def test_the_base_made_again_is_the_same_bytes_as_the_one_in_the_image(name: str, own: str, tmp_path: Path) -> None:
    image = build(name)
    base.make(debian.lock_of(own), own, tmp_path / "base.tar")
    with (tmp_path / "base.tar").open("rb") as stream:
        assert image.layers[0] == "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


@pytest.fixture
def older() -> dict[str, BaseLock]:
    """The base of a report whose checkout locked other packages, by its label."""
    own = debian.lock_of("slim").only("slim")
    lock = msgspec.structs.replace(own, epoch=own.epoch - 3600, packages=own.packages[1:])
    return {f"debian slim {base.identity_of(lock, 'slim')}": lock}


def test_a_run_names_every_package_of_its_bases() -> None:
    own = msgspec.structs.replace(image(), base=base.describe("slim").label)
    pulled = msgspec.structs.replace(image(), base="registry slim sha256:0")
    assert base.recorded([own, own, pulled], "debian") == {own.base: debian.lock_of("slim").only("slim")}


def test_the_base_of_a_report_is_made_again_and_not_that_of_the_checkout(older: dict[str, BaseLock]) -> None:
    source = base.keep(older)
    ((label, lock),) = older.items()
    made = base.describe("slim", source)
    assert (made.label, made.lock) == (label, lock)
    assert base.describe("slim").label != label
    assert recipe("canary", base_source=source).base == made
    assert base.recorded([msgspec.structs.replace(image(), base=label)], source) == older


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "../bash"),
        ("version", "1/../../x"),
        ("sha256", "0" * 63),
        ("path", "pool/../../x.deb"),
        ("archive", "mirror.test"),
    ],
)
def test_a_package_without_the_form_of_one_is_refused(field: str, value: object, older: dict[str, BaseLock]) -> None:
    plain: Any = msgspec.to_builtins(older)
    next(iter(plain.values()))["packages"][0][field] = value
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(plain, dict[str, BaseLock])


def test_packages_that_do_not_make_the_named_base_are_refused(older: dict[str, BaseLock]) -> None:
    ((label, lock),) = older.items()
    changed = msgspec.structs.replace(lock, packages=lock.packages[1:])
    for name, content in ((label, changed), (label.replace("slim", "../x"), lock), ("", lock), ("registry x y", lock)):
        with pytest.raises(LevelfieldError, match="do not make its base"):
            base.keep({name: content})
