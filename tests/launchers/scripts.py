"""Small programs that stand for workers on bad days, and what tests need to look after them."""

import sys
import tempfile
from pathlib import Path

import psutil

from levelfield.launchers.host import ProcessChannel, start_process
from levelfield.launchers.worker import Worker

PATIENCE_S = 60.0
"""On a slow, busy machine a Python may take seconds to start."""
READY = 'print(\'{"type":"ready","protocol":2,"pid":1,"python":"3"}\', flush=True)\n'
NEXT = "import sys\nrequest = sys.stdin.readline()\n"


def channel(script: str) -> ProcessChannel:
    """Start a program behind a bare channel."""
    return ProcessChannel([sys.executable, "-c", script], environment={}, folder=Path(tempfile.gettempdir()))


def worker(script: str) -> Worker:
    """Start a program as a worker, as the `venv` and `host` launchers do."""
    return start_process([sys.executable, "-c", script], "the script", {}, Path(tempfile.gettempdir()))


def gone(pid: int) -> bool:
    """Return whether no such process runs (a zombie does not run)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
