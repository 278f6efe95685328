"""`levelfield images` as people type it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from levelfield.cli.main import cli
from levelfield.images import base, lock_check
from levelfield.images.base import CheckedBase
from levelfield.images.lock_check import Checked, Outdated, Withdrawn
from tests.commands import Called, call, one_clear_sentence
from tests.images.bundles import bundle, entry, locks_that_name, manifest

WHEEL = "wheels/one-1.0-py3-none-any.whl"


def unbundle(folder: Path, *words: str | Path) -> Called:
    return call("images", "load", *words, folder=folder, environment={"LEVELFIELD_CACHE": str(folder / "cache")})


def test_what_was_taken_in_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked = "wheels/click-999-py3-none-any.whl"
    alone = unbundle(tmp_path, bundle(tmp_path, manifest(unlocked), entry(unlocked)))
    one_clear_sentence(alone, f"1 file left out, which no lock of this checkout names: {unlocked}.")
    locks_that_name(WHEEL, folder=tmp_path, patch=monkeypatch)
    path = bundle(tmp_path, manifest(WHEEL, unlocked), entry(WHEEL), entry(unlocked))
    first = unbundle(tmp_path, path)
    assert first.code == 0, first.err
    said = first.out.splitlines()
    assert said[0] == f"1 file left out, which no lock of this checkout names: {unlocked}."
    assert said[1] == "1 file in the cache; there before: 0."
    assert "1 file in the cache; there before: 1." in unbundle(tmp_path, path).out


def test_a_bundle_of_another_version_says_so(tmp_path: Path) -> None:
    command = unbundle(tmp_path, bundle(tmp_path, manifest(tool_version="\x1b[2J")))
    assert command.code == 0, command.err
    assert "other files may be needed here" in command.out
    assert "\x1b" not in command.out


@pytest.mark.parametrize("name", ["gone.tar", "rubbish.tar"])
def test_what_is_no_bundle_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "rubbish.tar").write_bytes(b"rubbish")
    one_clear_sentence(unbundle(tmp_path, name), name)


@pytest.mark.parametrize(
    ("image", "says"),
    [("onnxruntim", "Did you mean 'onnxruntime'"), ("onnxruntime@0.0.1", "0.0.1"), ("../../etc", "../../etc")],
)
def test_an_image_that_is_not_there_is_found_before_anything_is_fetched(tmp_path: Path, image: str, says: str) -> None:
    nowhere = {"LEVELFIELD_CACHE": str(tmp_path / "cache"), "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    command = call("images", "bundle", "out.tar", image, folder=tmp_path, environment=nowhere)
    one_clear_sentence(command, says)
    assert not (tmp_path / "out.tar").exists()


OLD = Outdated("jax", "0.10.2", "0.12.0.1", "jax/requirements.in")


@pytest.mark.parametrize(
    ("checked", "code", "said"),
    [
        (Checked("jax", "cpu", "3.13", ()), 0, "1 lock: 0 outdated distributions, 0 withdrawn."),
        (Checked("jax", "cpu", "3.13", (OLD,)), 1, "  jax 0.10.2 → 0.12.0.1 (images/jax/requirements.in asks for"),
        (
            Checked("jax", "cpu", "3.13", (), withdrawn=(Withdrawn("jax", "0.10.2", "It is\x1b[31m yanked."),)),
            1,
            "  jax 0.10.2: It is",
        ),
        (Checked("jax", "cpu", "3.13", None, "No index."), 2, "  No index."),
        (Checked("jax", "cpu@0.10.2", "3.13", None), 0, "1 lock: 0 outdated distributions, 0 withdrawn."),
    ],
)
def test_what_is_found_decides_the_exit_code(
    checked: Checked, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_check, "check", lambda *_, **__: (checked,))
    monkeypatch.setattr(base, "check", lambda **_: ())
    result = CliRunner().invoke(cli, ["images", "lock", "--check"])
    assert result.exit_code == code
    assert said in result.output
    assert "\x1b[31m" not in result.output
    result = CliRunner().invoke(cli, ["images", "lock", "--check", "--json"])
    assert result.exit_code == code
    (lock,) = json.loads(result.stdout)["locks"]
    assert lock["image"] == "jax"
    assert [each["newest"] for each in lock["outdated"] or ()] == [each.newest for each in checked.outdated or ()]


def test_packages_that_only_the_archive_has_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    old = CheckedBase("bookworm", "amd64", 31, ("libssl3 3.0.15-1",), ())
    monkeypatch.setattr(lock_check, "check", lambda *_, **__: ())
    monkeypatch.setattr(base, "check", lambda **_: (old,))
    result = CliRunner().invoke(cli, ["images", "lock", "--check"])
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert "Debian bookworm amd64, locked 31 days ago" in said
    assert "1 package no longer at mirrors, and fetched from Debian's archive of all files: libssl3 3.0.15-1" in said
    result = CliRunner().invoke(cli, ["images", "lock", "--check", "--json"])
    assert json.loads(result.stdout)["bases"][0]["archived"] == ["libssl3 3.0.15-1"]
    assert CliRunner().invoke(cli, ["images", "lock", "--check", "canary"]).output.count("Debian") == 0


def test_what_belongs_to_a_check_is_refused_without_one(tmp_path: Path) -> None:
    one_clear_sentence(call("images", "lock", "canary", "--json", folder=tmp_path), "belongs to --check")
    one_clear_sentence(
        call("images", "lock", "canary", "--check", "--find-links", ".", folder=tmp_path), "your own indexes"
    )
