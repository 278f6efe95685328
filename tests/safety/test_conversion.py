"""A type that many threads meet for the first time at once."""

import subprocess
import sys

from tests.commands import ROOT

MEETING = """
import faulthandler, threading
from levelfield.images import debian
faulthandler.enable()
gate = threading.Barrier(8)
found = []
def meet():
    gate.wait()
    found.append(debian.read_lock())
threads = [threading.Thread(target=meet) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8 and len({len(lock.packages) for lock in found}) == 1
"""


def test_threads_may_meet_a_type_at_once() -> None:
    """Without one waiting for the other, one process in forty crashed."""
    for _ in range(20):
        done = subprocess.run([sys.executable, "-c", MEETING], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
