"""Processes that compute or sleep, to be watched."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from levelfield.record.schema import Absent

BUSY = "print('up', flush=True)\nwhile True: pass"


ASLEEP = "import time; print('up', flush=True); time.sleep(60)"


@contextmanager
def process(program: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        try:
            yield child
        finally:
            child.kill()


def known(value: int | Absent) -> int:
    assert not isinstance(value, Absent), value
    return value
