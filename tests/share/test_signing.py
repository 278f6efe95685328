import subprocess
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.share.signing import Checked, check, sign
from tests.share.evidence import key

TEXT = b"a statement\n"


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return key(tmp_path_factory.mktemp("keys"))


def test_a_known_signer_is_named(ada: tuple[Path, Path]) -> None:
    found = check(TEXT, sign(TEXT, ada[0]), ada[1])
    assert found.good
    assert found.signer == "ada@example.org"
    assert found.key.startswith("SHA256:")


def test_without_signers_or_by_others_a_good_signature_is_nobodys(ada: tuple[Path, Path], tmp_path: Path) -> None:
    signature = sign(TEXT, ada[0])
    _, others = key(tmp_path, "eve")
    for signers in (None, others):
        found = check(TEXT, signature, signers)
        assert found.good
        assert not found.signer


def test_a_signature_of_something_else_is_not_good(ada: tuple[Path, Path]) -> None:
    signature = sign(TEXT, ada[0])
    assert check(b"another statement\n", signature, ada[1]) == Checked(good=False)
    for other in ("", "-----BEGIN SSH SIGNATURE-----\n", signature * 2, signature[:-2], "x" * 100_000, "ü"):
        assert check(TEXT, other, ada[1]) == Checked(good=False)


def test_a_signature_for_another_purpose_is_not_good(ada: tuple[Path, Path]) -> None:
    made = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-n", "file", "-f", ada[0]], input=TEXT, capture_output=True, check=True
    )
    assert check(TEXT, made.stdout.decode(), ada[1]) == Checked(good=False)


def test_every_changed_digit_of_a_signature_is_found(ada: tuple[Path, Path]) -> None:
    signature = sign(TEXT, ada[0])
    places = [index for index, letter in enumerate(signature) if letter.isdigit()]
    for place in places[:: max(1, len(places) // 15)]:
        changed = signature[:place] + str((int(signature[place]) + 1) % 10) + signature[place + 1 :]
        assert not check(TEXT, changed, ada[1]).signer, place


def test_what_cannot_sign_or_is_not_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_key = tmp_path / "no-key"
    no_key.write_text("nothing")
    for missing in (no_key, tmp_path / "absent"):
        with pytest.raises(LevelfieldError):
            sign(TEXT, missing)
    with pytest.raises(LevelfieldError, match="no file of signers"):
        check(TEXT, "", tmp_path / "absent")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LevelfieldError, match="ssh-keygen, which is not installed"):
        sign(TEXT, no_key)
