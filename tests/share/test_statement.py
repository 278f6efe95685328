import json
from typing import Any

import msgspec

from levelfield.share import statement
from tests.share.evidence import image, small

DIGESTS: dict[str, Any] = {"record_sha256": "a" * 64, "sboms": {"sbom/x.cdx.json": "c" * 64}}
WHOLE = statement.make(small(), **DIGESTS)


def test_it_is_an_in_toto_statement_over_record_images_and_inputs() -> None:
    made = json.loads(WHOLE)
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == "https://slsa.dev/provenance/v1"
    assert made["subject"] == [{"name": "run.json", "digest": {"sha256": "a" * 64}}]
    build = made["predicate"]["buildDefinition"]
    named = {each["name"]: each.get("digest", {}).get("sha256") for each in build["resolvedDependencies"]}
    assert named["image canary cpu"] == "1" * 64
    assert named["lock of canary cpu"] == image().lock_sha256
    launch = small().blocks[0].generations[0].launches[0]
    assert named["inputs of mlp, batch 1"] == launch.inputs_sha256
    assert build["externalParameters"]["settings"]["models"] == list(small().settings.models)
    assert made["predicate"]["runDetails"]["byproducts"] == [
        {"name": "sbom/x.cdx.json", "digest": {"sha256": "c" * 64}}
    ]


def test_every_dependency_has_a_name_and_a_digest_or_an_address() -> None:
    bare = msgspec.structs.replace(image(), image_id="", launcher="venv")
    made = json.loads(statement.make(msgspec.structs.replace(small(), images=(bare,)), **DIGESTS))
    for each in made["predicate"]["buildDefinition"]["resolvedDependencies"]:
        assert each["name"]
        assert each.get("digest") or each.get("uri")


def test_what_it_names_is_read_again() -> None:
    assert statement.read(WHOLE) == statement.RunFacts(**DIGESTS, part_sha256="")
    for other in (b"", b"{}", b"[" * 9000, b'{"subject": 1}', b"\xff"):
        assert statement.read(other) is None


def test_a_difference_is_named_by_its_place() -> None:
    other = statement.make(msgspec.structs.replace(small(), tool_version="9.9.9"), **DIGESTS)
    (said,) = statement.differences(other, WHOLE)
    assert said.startswith("predicate.runDetails.builder.version.levelfield is '9.9.9', and by the record ")
