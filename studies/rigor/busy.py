"""A competing load: one process that keeps one CPU busy now and then, for a share of the time.

It is bounded in every way: one thread on one CPU, a seeded pattern of busy and idle stretches (exponential, about a
second each), a last moment at which it ends, and it ends as well as soon as the process that started it is gone.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEAN_BUSY_S = 1.0
LONGEST_S = 5.0
STEP_S = 0.1
"""It looks for its parent this often."""


@contextmanager
def competing(share: float, cpu: int, seed: int, seconds: float) -> Iterator[None]:
    """Keep a CPU busy while the block runs; a share of 0 does nothing."""
    if not share:
        yield
        return
    command = [sys.executable, str(Path(__file__)), str(share), str(cpu), str(seed), str(seconds), str(os.getpid())]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def pattern(share: float, seed: int) -> Iterator[tuple[float, float]]:
    """Yield how long to be busy and then idle, in seconds, for ever."""
    draw = random.Random(seed)  # noqa: S311  (a load, not a secret)
    while True:
        yield tuple(  # type: ignore[misc]  # two of them
            min(draw.expovariate(1 / mean), LONGEST_S) for mean in (MEAN_BUSY_S, MEAN_BUSY_S * (1 - share) / share)
        )


def main() -> None:
    share, cpu, seed, seconds, parent = (kind(word) for kind, word in zip(_KINDS, sys.argv[1:], strict=True))
    os.sched_setaffinity(0, {int(cpu)})
    end = time.monotonic() + seconds
    for busy, idle in pattern(share, int(seed)):
        for stretch, spin in ((busy, True), (idle, False)):
            until = min(time.monotonic() + stretch, end)
            while (now := time.monotonic()) < until:
                if os.getppid() != parent:
                    return
                step = min(now + STEP_S, until)
                if not spin:
                    time.sleep(step - now)
                while spin and time.monotonic() < step:
                    pass
            if until >= end:
                return


_KINDS = (float, int, int, float, int)

if __name__ == "__main__":
    main()
