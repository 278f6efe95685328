"""The tests that need frameworks, run for real in the environment that the `oracle` lock describes."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import levelfield
from levelfield.images import environments

ROOT = Path(levelfield.__file__).parents[2]
MARK = "pytest.mark.framework"
"""In the files that need no more than what the lock holds."""


@pytest.mark.extended
def test_oracles_and_exports_agree_in_their_locked_environment() -> None:
    python = environments.make("oracle").python
    found = sorted((ROOT / "tests" / "zoo").rglob("test_*.py"))
    files = [str(path) for path in found if MARK in path.read_text("utf-8")]
    options = ["-q", "-m", "framework", "-p", "no:cacheprovider", "--confcutdir=tests/zoo"]
    result = subprocess.run(
        [python, "-m", "pytest", *options, *files],
        cwd=ROOT,
        # Two files are tested at a time: threads of NumPy and of torch would spin in the way of the other one.
        env={
            "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    summary = result.stdout.strip().splitlines()[-1]
    assert re.search(r"\b[1-9]\d* passed", summary)
    assert "skipped" not in summary, result.stdout[-4000:]
