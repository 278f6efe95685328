"""The command without its installed script."""

import subprocess
import sys

from levelfield.version import __version__
from tests.commands import ROOT


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "levelfield.cli", "--version"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"levelfield, version {__version__}\n", "")
