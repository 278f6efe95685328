"""What nox does around the command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLOW = "#!/bin/sh\ntrap 'sleep 2; echo kept; exit 2' INT\necho begun\nwhile :; do sleep 0.1; done\n"


def test_an_interrupted_run_has_the_time_to_write_its_report(tmp_path: Path) -> None:
    (tmp_path / "levelfield").write_text(SLOW)
    (tmp_path / "levelfield").chmod(0o755)
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    (tmp_path / "noxfile.py").write_text(f"{text}\nenvironment = lambda *_: Path({str(tmp_path)!r})\n")
    words = [sys.executable, "-m", "nox", "-s", "bench"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True) as nox:
        assert nox.stdout is not None
        assert "begun\n" in nox.stdout
        os.killpg(nox.pid, signal.SIGINT)
        assert "kept\n" in nox.stdout.readlines()
