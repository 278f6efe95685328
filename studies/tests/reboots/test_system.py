"""The guest's own files fit what the product writes, and what is missing here is named."""

import os
from pathlib import Path

import pytest

from studies.reboots import machine, system
from studies.reboots.series import NAME
from suite.errors import LevelfieldError
from suite.upgrade.unit import file_name

UNITS = system._GUEST / "etc/systemd/system"


def test_the_guest_adds_to_the_unit_that_the_product_writes() -> None:
    unit = file_name(NAME)
    added = (UNITS / f"{unit}.d/trial.conf").read_text()
    assert machine.BEGINS in added
    assert machine.ENDED in added
    script = (system._GUEST / "usr/local/sbin/begin-upgrade").read_text()
    assert f"upgrade begin {NAME} " in script
    assert f"systemctl enable {unit}" in script
    assert unit in (UNITS / "begin-upgrade.service").read_text()


def test_a_release_is_what_uname_says() -> None:
    assert system.release(system.OLD) == "6.1.0-47-cloud-amd64"


def test_what_is_missing_here_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LevelfieldError, match="several owners"):
        system.make(tmp_path / "disk.img", print)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LevelfieldError, match="apt-get install qemu-system-x86"):
        system.make(tmp_path / "disk.img", print)
