"""Every study that a session of the nox file names begins as a command."""

import re
import subprocess
import sys

import pytest

from tests.commands import ROOT

NAMED = re.findall(r'"(studies\.[a-z_.]+)"', (ROOT / "studies" / "noxfile.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", [*NAMED, "studies.gpu.turns"])
def test_it_says_how_it_is_used(module: str) -> None:
    command = [sys.executable, "-m", module, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
