import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.images import base, debian, reported_base, sbom
from tests.share.evidence import image


@pytest.fixture(scope="module")
def bill() -> bytes:
    return sbom.of_record(image())


def test_a_bill_holds_all_that_it_takes_to_make_the_base_again(bill: bytes) -> None:
    assert reported_base.read(bill, image()) == debian.lock_of("slim").only("slim")


def test_the_base_of_another_checkout_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    own = debian.lock_of("slim")
    older = msgspec.structs.replace(own, epoch=own.epoch - 1, packages=own.packages[1:])
    monkeypatch.setattr(debian, "lock_of", lambda _name: older)
    theirs = msgspec.structs.replace(image(), base=base.describe("slim").label)
    content = sbom.of_record(theirs)
    monkeypatch.undo()
    assert reported_base.read(content, theirs) == older.only("slim")


def _place(package: dict[str, Any], value: str) -> None:
    next(each for each in package["properties"] if each["name"] == "levelfield:place")["value"] = value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda package: package.update(name="../bash"), "does not name the packages"),
        (lambda package: package.update(version="1/../../x"), "does not name the packages"),
        (lambda package: package.update(purl="pkg:deb/debian/bash?arch=../x"), "bash is no package"),
        (lambda package: package.update(hashes=[]), "does not name the packages"),
        (lambda package: _place(package, "debian/pool/../../x.deb"), "bash is no package"),
        (lambda package: _place(package, "mirror.test/pool/main/b/bash/x.deb"), "bash is no package"),
        (lambda package: package.update(version="9.9"), "do not make the base of the record"),
    ],
)
def test_a_forged_bill_is_refused(bill: bytes, change: Callable[[dict[str, Any]], None], reason: str) -> None:
    forged = json.loads(bill)
    change(next(part for part in forged["components"] if part["name"] == "bash"))
    with pytest.raises(LevelfieldError, match=reason):
        reported_base.read(json.dumps(forged).encode(), image())


@pytest.mark.parametrize("content", [b"{}", b"[" * 100_000, b"\xff"])
def test_what_is_no_bill_is_refused(content: bytes) -> None:
    with pytest.raises(LevelfieldError, match="does not name the packages"):
        reported_base.read(content, image())


def test_an_image_without_debian_packages_has_none_to_read() -> None:
    for label in ("", "registry slim sha256:0", "debian other 0"):
        theirs = msgspec.structs.replace(image(), base=label)
        with pytest.raises(LevelfieldError, match="stands on no base"):
            reported_base.read(b"{}", theirs)
