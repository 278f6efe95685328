"""Interpreters of their own, in which nothing has been imported."""

import os
import subprocess
import sys
from pathlib import Path


def fresh(program: str, **variables: str) -> str:
    """Run a program in an interpreter of its own and return what it prints."""
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
    )
    return answer.stdout
