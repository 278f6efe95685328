"""The console of a guest, as one was recorded, and a machine that goes off by itself."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from studies.reboots import machine, system
from studies.reboots.series import NAME

CONSOLE = """\
SeaBIOS (version 1.16.2-debian-1.16.2-1)\r
\x1bc\x1b[?7l\x1b[2J[   71.201] begin-upgrade[300]: Next: levelfield upgrade next kernel in this boot\r
trial: next begins\r
[   81.004743] python3[312]:   round 1 of 2\r
[   95.721177] python3[312]:   round 1 of 2, repeated: something waited for a CPU\r
[  201.995557] python3[312]: Next: reboot, 1 more boot on this side.\r
trial: next ended: success 0\r
[  206.886372] reboot: Power down\r
"""


def test_lines_of_services_are_told_from_the_rest() -> None:
    found = machine.lines(CONSOLE.replace("\r", ""))
    assert list(found) == [
        "  round 1 of 2",
        "  round 1 of 2, repeated: something waited for a CPU",
        "Next: reboot, 1 more boot on this side.",
    ]
    assert machine.result(CONSOLE.replace("\r", "")) == "success 0"
    assert machine.result(CONSOLE.replace("\r", "").partition("trial: next ended")[0]) == ""


def test_a_machine_is_waited_for_and_cut(tmp_path: Path) -> None:
    console = tmp_path / "console"
    process = subprocess.Popen(["sh", "-c", f"sleep 0.3; echo '{machine.BEGINS}' > {console}; exec sleep 60"])
    boot = machine.Boot(process, console)
    assert boot.wait_for(machine.BEGINS)
    assert not boot.wait(0.1)
    begin = time.monotonic()
    boot.cut()
    assert boot.wait()
    assert time.monotonic() - begin < 10
    assert boot.wait_for(machine.BEGINS)
    assert not boot.wait_for(machine.ENDED)


pytestmark = pytest.mark.skipif(shutil.which("debugfs") is None, reason="e2fsprogs is not installed")
SIZE_BYTES = 8 << 20


def made(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "var/reports/one").mkdir(parents=True)
    (folder / "var/reports/one/run.json").write_text("{}")
    image = tmp_path / "the disk.img"
    machine.make_disk(folder, image, SIZE_BYTES)
    return image


def test_what_a_file_system_holds_comes_back(tmp_path: Path) -> None:
    image = made(tmp_path)
    machine.put(image, "new\n", "/var/plan")
    machine.replay(image)
    found = machine.take(image, "/var", tmp_path / "the copy")
    assert (found / "plan").read_text() == "new\n"
    assert (found / "reports/one/run.json").read_text() == "{}"
    assert not machine.take(image, "/srv/none", tmp_path / "out").exists()
    with pytest.raises(LevelfieldError, match=r"/none/plan could not be written into the disk\.img"):
        machine.put(image, "x", "/none/plan")


def test_what_does_not_fit_and_what_is_damaged_is_refused(tmp_path: Path) -> None:
    image = made(tmp_path)
    with image.open("r+b") as file:
        file.write(bytes(1 << 20))
    with pytest.raises(LevelfieldError, match="is damaged"):
        machine.replay(image)
    (tmp_path / "root/file").write_bytes(bytes(range(256)) * (SIZE_BYTES // 128))
    with pytest.raises(LevelfieldError, match="could not be made"):
        machine.make_disk(tmp_path / "root", tmp_path / "disk.img", SIZE_BYTES)


UNITS = system._GUEST / "etc/systemd/system"


def test_the_guest_has_a_unit_that_measures_each_boot() -> None:
    unit = f"levelfield-upgrade-{NAME}.service"
    text = (UNITS / unit).read_text()
    assert machine.BEGINS in text
    assert machine.ENDED in text
    assert f"upgrade next {NAME}\n" in text
    script = (system._GUEST / "usr/local/sbin/begin-upgrade").read_text()
    assert f"upgrade begin {NAME} " in script
    assert f"systemctl enable {unit}" in script
    assert unit in (UNITS / "begin-upgrade.service").read_text()


def test_what_is_missing_here_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LevelfieldError, match="several owners"):
        system.make(tmp_path / "disk.img", print)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LevelfieldError, match="apt-get install qemu-system-x86"):
        system.make(tmp_path / "disk.img", print)
