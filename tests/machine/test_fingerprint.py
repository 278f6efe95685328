import getpass
import platform
import re

import msgspec
import pytest

from levelfield.machine.fingerprint import changed, fingerprint
from levelfield.record.schema import Absent, Fingerprint

PRIVATE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}|\b(?:\d{1,3}\.){3}\d{1,3}:\d+")


@pytest.fixture(scope="module")
def machine() -> Fingerprint:
    return fingerprint()


def test_this_machine_has_a_fingerprint_that_a_record_can_hold(machine: Fingerprint) -> None:
    assert msgspec.json.decode(msgspec.json.encode(machine), type=Fingerprint) == machine
    assert {"cpu", "memory", "kernel", "virtualisation", "system", "limits", "engine", "gpu", "signals"} <= set(machine)


def test_names_are_left_out_unless_asked_for(machine: Fingerprint) -> None:
    assert "identity" not in machine
    assert not PRIVATE.search(msgspec.json.encode(machine).decode())
    known = fingerprint(identify=True)
    assert known["identity"] == {"host": platform.node(), "user": getpass.getuser()}


def test_what_changed_is_said() -> None:
    before: Fingerprint = {"cpu": {"microcode": "1", "model": "X"}, "kernel": {"timer step ns": 50}}
    after: Fingerprint = {"cpu": {"microcode": Absent("hidden"), "model": "X"}, "kernel": {"timer step ns": 40}}
    assert changed(before, after) == ["cpu, microcode: 1 became unknown (hidden)"]


def test_what_an_older_release_did_not_ask_for_is_no_change() -> None:
    before: Fingerprint = {"gpu": {"devices": 1}}
    after: Fingerprint = {"gpu": {"devices": 1, "kernel module": "open"}}
    assert changed(before, after) == changed(after, before) == []
    assert changed(before, {}) == ["gpu, devices: 1 became not asked"]
