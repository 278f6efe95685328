"""Every trial that a nox session names begins as a command."""

import re
import subprocess
import sys

import pytest

from tests.commands import ROOT

NAMED = sorted(set(re.findall(r'"(suite\.trials\.[a-z_.]+)"', (ROOT / "noxfile.py").read_text(encoding="utf-8"))))


def test_all_trials_are_sessions() -> None:
    assert len(NAMED) > 6


@pytest.mark.parametrize("module", NAMED)
def test_it_says_how_it_is_used(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
