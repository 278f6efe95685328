"""Canaries that are not what they seem: real workers of the current interpreter whose backend does one thing wrong.

A folder with a `sitecustomize` module on `PYTHONPATH` changes the backend of every worker that is launched; what an arm
does wrong stands in its settings (`hostile=spins`), so that honest arms stand beside it.
"""

import os
from pathlib import Path

import pytest

from levelfield.plan import CANARY
from levelfield.record.schema import Arm
from tests.commands import ROOT

SITECUSTOMIZE = '''
import random
import threading
import time
import zlib

import msgspec

from tests.attacks import mutating

import levelfield.backends.canary as module
from levelfield.record import measured
from levelfield.worker import messages

DATA = bytes(1 << 20)
SPIN_S = 0.12


class Hostile(module.Canary):
    def __init__(self, options):
        self._does = options.settings.get("hostile", "")
        super().__init__(msgspec.structs.replace(options, settings={}))

    def load(self, source):
        step = super().load(source)
        does, _, seed = self._does.partition("-")
        return globals()[does](step, *filter(None, [seed])) if does else step


def spins(step):
    """Go on computing for a while after the last call, in a thread that lets the others run (zlib drops the GIL)."""
    until = [0.0]
    wake = threading.Event()

    def spin():
        while True:
            wake.wait()
            wake.clear()
            while time.monotonic() < until[0]:
                zlib.crc32(DATA)

    threading.Thread(target=spin, daemon=True).start()

    def spinning(inputs):
        answer = step(inputs)
        until[0] = time.monotonic() + SPIN_S
        wake.set()
        return answer

    return spinning


def never_rests(step):
    """Compute for ever."""
    spinning = spins(step)
    globals()["SPIN_S"] = 3600.0
    return spinning


def forgets(step):
    """Answer rightly five times, and then with the fifth answer."""
    answers = []

    def forgetting(inputs):
        if len(answers) < 5:
            answers.append(step(inputs))
        return answers[-1]

    return forgetting


def remembers(step):
    """Compute only where the array is another than in the call before: all answers are right."""
    last = [None, None]

    def remembering(inputs):
        array = inputs["signal"]
        if array is not last[0]:
            last[:] = array, step(inputs)
        return last[1]

    return remembering


def lies(changed):
    """Make a backend whose worker changes what it reports."""

    def lying(step):
        from levelfield.worker import server

        write = server.ReplyWriter.write
        server.ReplyWriter.write = lambda self, reply: write(self, changed(reply))
        return step

    return lying


def mutates(step, seed):
    """Change what it reports, in a third of its replies."""
    from levelfield.worker import server

    rng = random.Random(seed)

    def write(self, reply):
        self._owed = False
        line = msgspec.json.encode(reply)
        if rng.random() < 1 / 3:
            line = mutating.mutated(rng, line).replace(b"\\n", b" ")
        self._replies.write(line + b"\\n")
        self._replies.flush()

    server.ReplyWriter._write = write
    return step


def more_libraries(reply):
    if not isinstance(reply, messages.Probed):
        return reply
    return msgspec.structs.replace(reply, libraries=(measured.Library("x", "/x", "y"),) * 400_000)


def more_samples(reply):
    if not isinstance(reply, messages.Measured):
        return reply
    return messages.Measured(msgspec.structs.replace(reply.window, samples_ns=(1,) * 1_000_001))


def other_inputs(reply):
    return msgspec.structs.replace(reply, inputs_sha256="0" * 64) if isinstance(reply, messages.Loaded) else reply


def long_error(reply):
    return messages.Failed("error", "x" * 900_000, "y" * 900_000) if isinstance(reply, messages.Measured) else reply


names_libraries = lies(more_libraries)
counts_samples = lies(more_samples)
holds_other_inputs = lies(other_inputs)
shouts = lies(long_error)


module.Canary = Hostile
'''


def arm(does: str, ordinal: int = 2) -> Arm:
    """Return a canary that does something wrong: the name of a function above."""
    return Arm(CANARY, CANARY, ordinal=ordinal, settings={"hostile": does})


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every worker that is launched from now on have the backend above."""
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(filter(None, (str(folder), str(ROOT), os.environ.get("PYTHONPATH", ""))))
    )
