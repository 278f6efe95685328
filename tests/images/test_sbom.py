"""Which distributions may not be passed on at will."""

import json

import msgspec
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, debian, sbom
from tests.share.evidence import image


def test_the_same_image_gives_the_same_bytes_and_another_one_others() -> None:
    assert sbom.of_record(image()) == sbom.of_record(image())
    lock = catalogue.lock("canary")
    assert sbom.make(lock) != sbom.make(lock, debian.read_lock().packages_of("slim"), base_label="debian slim x")
    assert json.loads(sbom.make(lock))["serialNumber"] != json.loads(sbom.of_record(image()))["serialNumber"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the validator's own library
def test_it_follows_the_schema_of_cyclonedx() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom.of_record(image()).decode()) is None


def test_every_wheel_and_every_debian_package_is_there_with_its_hash() -> None:
    parts = {part["purl"]: part["hashes"] for part in json.loads(sbom.of_record(image()))["components"]}
    for pin in catalogue.lock("canary").pins:
        assert parts[f"pkg:pypi/{pin.name}@{pin.version}"] == [{"alg": "SHA-256", "content": pin.sha256}]
    packages = debian.read_lock().packages_of("slim")
    assert len(parts) == len(catalogue.lock("canary").pins) + len(packages)
    bash = next(package for package in packages if package.name == "bash")
    place = next(part for part in parts if part.startswith("pkg:deb/debian/bash@"))
    assert parts[place] == [{"alg": "SHA-256", "content": bash.sha256}]


def test_an_image_of_another_lock_or_base_has_none_that_could_be_made_here() -> None:
    for changed in (
        {"lock_sha256": "0" * 64},
        {"base": f"debian slim {'0' * 64}"},
        {"unlocked": "the current interpreter"},
    ):
        with pytest.raises(LevelfieldError):
            sbom.of_record(msgspec.structs.replace(image(), **changed))


def test_a_bill_that_tells_of_something_else_is_named() -> None:
    content = sbom.of_record(image())
    assert sbom.contradictions(content, image()) == ()
    version = image().distributions["numpy"]
    (said,) = sbom.contradictions(
        content, msgspec.structs.replace(image(), distributions={**image().distributions, "numpy": "1.0"})
    )
    assert said == f"numpy is {version} there and 1.0 in the record"
    assert sbom.contradictions(b"[]", image()) == ("it is no bill of materials",)
