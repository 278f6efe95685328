"""A command ends with whoever waits for it, however that one ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield_fleet.run import guard
from tests.commands import eventually
from tests.launchers.scripts import gone

SLEEPER = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = (
    "import subprocess, sys, time; "
    f"subprocess.Popen([sys.executable, '-c', {SLEEPER!r}, sys.argv[1] + '-child']); {SLEEPER}"
)


def start(source: str, folder: Path, *, grace_s: float = 5.0, limit_s: float | None = None) -> "subprocess.Popen[str]":
    """Run a Python program under a guard, in a process of its own."""
    words = [sys.executable, "-c", source, str(folder / "pid")]
    call = f"from levelfield_fleet.run import guard; print(guard.run({words!r}, grace_s={grace_s}, limit_s={limit_s}))"
    return subprocess.Popen(
        [sys.executable, "-c", call],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def pid_of(file: Path) -> int:
    assert eventually(lambda: file.is_file() and file.read_text().isdigit())
    return int(file.read_text())


def test_what_the_command_started_ends_too(tmp_path: Path) -> None:
    process = start(PARENT, tmp_path)
    pids = [pid_of(tmp_path / name) for name in ("pid", "pid-child")]
    process.communicate()
    assert eventually(lambda: all(map(gone, pids)))


def test_a_guard_that_is_killed_takes_the_command_with_it(tmp_path: Path) -> None:
    process = start(SLEEPER, tmp_path)
    pid = pid_of(tmp_path / "pid")
    process.kill()
    process.communicate()
    assert eventually(lambda: gone(pid))


@pytest.mark.parametrize("code", [0, 3])
def test_as_a_command_it_exits_as_its_command_does(code: int) -> None:
    words = [sys.executable, "-m", guard.__name__, sys.executable, "-c", f"raise SystemExit({code})"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code


@pytest.mark.parametrize(
    ("source", "limit_s", "code", "why"),
    [
        ("raise SystemExit(7)", None, 7, "ended"),
        (SLEEPER, None, -signal.SIGTERM, "abandoned"),
        (STUBBORN, None, -signal.SIGKILL, "abandoned"),
        (SLEEPER, 1.0, -signal.SIGTERM, "too long"),
    ],
)
def test_how_a_command_ends(tmp_path: Path, source: str, limit_s: float | None, code: int, why: str) -> None:
    process = start(source, tmp_path, grace_s=0.3 if source is STUBBORN else 5.0, limit_s=limit_s)
    assert process.stdout is not None
    pid = pid_of(tmp_path / "pid") if why == "abandoned" else None
    said = process.communicate()[0] if why == "abandoned" else process.stdout.read()
    assert said.strip() == f"Ending(code={code}, why={why!r})"
    assert pid is None or gone(pid)
    process.communicate()
