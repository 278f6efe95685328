"""A folder that was copied from elsewhere, with a pipe or a device where a file should be: no command waits for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from suite.compare import baselines
from suite.record import files
from suite.share import statement
from tests.commands import ROOT
from tests.share.evidence import leave, small

pytestmark = pytest.mark.slow
PLACES = (
    f"a-run/{files.NAME}", f"a-run/{files.JOURNAL}", "a-run/summary.json", "a-run/report.html",
    f"a-run/{statement.NAME}", f"{baselines.FOLDER}/good.json", "bundle",
)  # fmt: skip
COMMANDS = (
    "report a-run", "verify reports/a-run", "reproduce reports/a-run --dry-run", "export a-run", "card a-run",
    "compare a-run b-run", "compare --baseline good a-run", "baseline list", "baseline set other a-run", "history",
    "history --rebuild", "publish", "fleet gather reports", "unbundle reports/bundle", "bench --resume a-run",
)  # fmt: skip
PATIENCE_S = 300.0


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_no_command_waits(tmp_path: Path, kind: str) -> None:
    """All places at once: whichever file a command opens first."""
    for name in ("a-run", "b-run"):
        leave(small(), tmp_path / "reports" / name)
    for place in PLACES:
        path = tmp_path / "reports" / place
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "suite.cli", *command.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LEVELFIELD_CACHE": str(tmp_path / "cache")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode in (0, 2), f"{command}: {said}"
        assert "Traceback" not in said, command
        assert "failed unexpectedly" not in said, command
