"""The console of a guest, as one was recorded, and a machine that goes off by itself."""

import subprocess
import time
from pathlib import Path

from studies.reboots import machine

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
    assert [each.text for each in found] == [
        "  round 1 of 2",
        "  round 1 of 2, repeated: something waited for a CPU",
        "Next: reboot, 1 more boot on this side.",
    ]
    assert found[0].uptime_s == 81.004743


def test_how_next_ended_is_on_the_console_or_not() -> None:
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
