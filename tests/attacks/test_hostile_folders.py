"""A folder that was copied from elsewhere, with a pipe or a device where a file should be: no command waits for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield.compare import baselines
from levelfield.record import files
from levelfield.share import statement
from tests.commands import IMPORTS
from tests.share.evidence import leave, small

PLACES = (
    f"a-run/{files.NAME}", f"a-run/{files.JOURNAL}", "a-run/summary.json", "a-run/report.html",
    f"a-run/{statement.NAME}", f"{baselines.FOLDER}/good.json", "bundle",
)  # fmt: skip
COMMANDS = (
    "report a-run", "verify reports/a-run", "reproduce reports/a-run --dry-run", "export a-run",
    "report a-run --card card", "compare a-run b-run", "compare --baseline good a-run", "baseline list",
    "baseline set other a-run", "history", "history mlp --json", "publish", "images load reports/bundle",
    "bench --resume a-run",
)  # fmt: skip
PATIENCE_S = 300.0
CALLS = """
import sys
from levelfield.cli.main import main
for command in sys.argv[1:]:
    sys.argv = ["levelfield", *command.split()]
    print(f"> {command}", file=sys.stderr, flush=True)
    try:
        main()
    except SystemExit as end:
        print(f"< {end.code}", file=sys.stderr, flush=True)
"""
"""One process for all commands: to start one for each takes a second of CPU time."""


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
    done = subprocess.run(
        [sys.executable, "-c", CALLS, *COMMANDS], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": IMPORTS, "LEVELFIELD_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    lines = done.stderr.splitlines()
    assert [line[2:] for line in lines if line.startswith("> ")] == list(COMMANDS), said
    ends = [line[2:] for line in lines if line.startswith("< ")]
    assert len(ends) == len(COMMANDS), said
    assert {end for words, end in zip(COMMANDS, ends, strict=True) if words != "publish"} <= {"0", "2", "3"}, said
    assert "Traceback" not in said
    assert "failed unexpectedly" not in said
