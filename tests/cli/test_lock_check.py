"""`levelfield lock --check` as people type it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from levelfield.cli.main import cli
from levelfield.images import base, catalogue, lock_check
from levelfield.images.base import CheckedBase
from levelfield.images.lock_check import Checked, Outdated, Withdrawn
from tests.commands import call, one_clear_sentence

OLD = Outdated("jax", "0.10.2", "0.12.0.1", "jax/requirements.in")


@pytest.mark.parametrize(
    ("checked", "code", "said"),
    [
        (Checked("jax", "cpu", "3.13", ()), 0, "1 locks: 0 outdated distributions, 0 withdrawn."),
        (
            Checked("jax", "cpu", "3.13", (OLD,)),
            1,
            "  jax 0.10.2 → 0.12.0.1 (images/jax/requirements.in asks for",
        ),
        (
            Checked("jax", "cpu", "3.13", (), withdrawn=(Withdrawn("jax", "0.10.2", "It is\x1b[31m yanked."),)),
            1,
            "  jax 0.10.2: It is",
        ),
        (Checked("jax", "cpu", "3.13", None, "No index."), 2, "  No index."),
        (Checked("jax", "cpu@0.10.2", "3.13", None), 0, "1 locks: 0 outdated distributions, 0 withdrawn."),
    ],
)
def test_what_is_found_decides_the_exit_code(
    checked: Checked, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_check, "check", lambda *_, **__: (checked,))
    monkeypatch.setattr(base, "check", lambda **_: ())
    result = CliRunner().invoke(cli, ["lock", "--check"])
    assert result.exit_code == code
    assert said in result.output
    assert "\x1b[31m" not in result.output
    result = CliRunner().invoke(cli, ["lock", "--check", "--json"])
    assert result.exit_code == code
    (lock,) = json.loads(result.stdout)["locks"]
    assert lock["image"] == "jax"
    assert [each["newest"] for each in lock["outdated"] or ()] == [each.newest for each in checked.outdated or ()]


def test_packages_that_only_the_archive_has_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    base = CheckedBase("bookworm", "amd64", 31, ("libssl3 3.0.15-1",), ())
    monkeypatch.setattr(lock_check, "check", lambda *_, **__: ())
    monkeypatch.setattr(base, "check", lambda **_: (base,))
    result = CliRunner().invoke(cli, ["lock", "--check"])
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert "Debian bookworm amd64, locked 31 days ago" in said
    assert "1 package no longer at mirrors, and fetched from Debian's archive of all files: libssl3 3.0.15-1" in said
    result = CliRunner().invoke(cli, ["lock", "--check", "--json"])
    assert json.loads(result.stdout)["bases"][0]["archived"] == ["libssl3 3.0.15-1"]
    assert CliRunner().invoke(cli, ["lock", "--check", "canary"]).output.count("Debian") == 0


def test_the_command_changes_nothing(tmp_path: Path) -> None:
    before = catalogue.lock("canary")
    command = call("lock", "canary", "--check", "--json", folder=tmp_path)
    (lock,) = json.loads(command.out)["locks"]
    assert command.code == (1 if lock["outdated"] else 0), command.err
    assert (lock["lock"], lock["problem"]) == ("cpu", "")
    assert catalogue.lock("canary") == before
    assert "asking for newer versions" in command.err


def test_what_belongs_to_a_check_is_refused_without_one(tmp_path: Path) -> None:
    one_clear_sentence(call("lock", "canary", "--json", folder=tmp_path), "belongs to --check")
    one_clear_sentence(call("lock", "canary", "--check", "--find-links", ".", folder=tmp_path), "your own indexes")
