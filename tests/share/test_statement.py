import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.share import statement
from levelfield.share.statement import Signature, check_signature, sign
from tests.share.evidence import image, key, small

DIGESTS: dict[str, Any] = {"record_sha256": "a" * 64, "sboms": {"sbom/x.cdx.json": "c" * 64}}
WHOLE = statement.make(small(), **DIGESTS)


def test_it_is_an_in_toto_statement_over_record_images_and_inputs() -> None:
    made = json.loads(WHOLE)
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == "https://slsa.dev/provenance/v1"
    assert made["subject"] == [{"name": "run.json", "digest": {"sha256": "a" * 64}}]
    build = made["predicate"]["buildDefinition"]
    named = {each["name"]: each.get("digest", {}).get("sha256") for each in build["resolvedDependencies"]}
    assert (named["image canary cpu"], named["lock of canary cpu"]) == ("1" * 64, image().lock_sha256)
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
    assert statement.read(WHOLE) == statement.RunFacts(**DIGESTS)
    for other in (b"", b"{}", b"[" * 9000, b'{"subject": 1}', b"\xff"):
        assert statement.read(other) is None


def test_a_difference_is_named_by_its_place() -> None:
    other = statement.make(msgspec.structs.replace(small(), tool_version="9.9.9"), **DIGESTS)
    (said,) = statement.differences(other, WHOLE)
    assert said.startswith("predicate.runDetails.builder.version.levelfield is '9.9.9', and by the record ")


TEXT = b"a statement\n"


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return key(tmp_path_factory.mktemp("keys"))


def test_a_known_signer_is_named(ada: tuple[Path, Path]) -> None:
    found = check_signature(TEXT, sign(TEXT, ada[0]), ada[1])
    assert found.good
    assert found.signer == "ada@example.org"
    assert found.key.startswith("SHA256:")


def test_without_signers_or_by_others_a_good_signature_is_nobodys(ada: tuple[Path, Path], tmp_path: Path) -> None:
    signature = sign(TEXT, ada[0])
    _, others = key(tmp_path, "eve")
    for signers in (None, others):
        found = check_signature(TEXT, signature, signers)
        assert found.good
        assert not found.signer


def test_a_signature_of_something_else_is_not_good(ada: tuple[Path, Path]) -> None:
    signature = sign(TEXT, ada[0])
    assert check_signature(b"another statement\n", signature, ada[1]) == Signature(good=False)
    for other in ("", "-----BEGIN SSH SIGNATURE-----\n", signature * 2, signature[:-2], "x" * 100_000, "ü"):
        assert check_signature(TEXT, other, ada[1]) == Signature(good=False)


def test_a_signature_for_another_purpose_is_not_good(ada: tuple[Path, Path]) -> None:
    made = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-n", "file", "-f", ada[0]], input=TEXT, capture_output=True, check=True
    )
    assert check_signature(TEXT, made.stdout.decode(), ada[1]) == Signature(good=False)


def test_every_changed_digit_of_a_signature_is_found(ada: tuple[Path, Path]) -> None:
    signature = sign(TEXT, ada[0])
    places = [index for index, letter in enumerate(signature) if letter.isdigit()]
    for place in places[:: max(1, len(places) // 15)]:
        changed = signature[:place] + str((int(signature[place]) + 1) % 10) + signature[place + 1 :]
        assert not check_signature(TEXT, changed, ada[1]).signer, place


def test_what_cannot_sign_or_is_not_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_key = tmp_path / "no-key"
    no_key.write_text("nothing")
    for missing in (no_key, tmp_path / "absent"):
        with pytest.raises(LevelfieldError):
            sign(TEXT, missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LevelfieldError, match="ssh-keygen, which is not installed"):
        sign(TEXT, no_key)
