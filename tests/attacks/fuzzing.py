"""Trying cases on readers, each bounded in processor time."""

import os
import random
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from tests.attacks import readers
from tests.attacks.mutating import mutated

SECONDS = 5.0
"""Processor time that a case may take."""


class _TooSlowError(BaseException):
    """No code that catches every `Exception` may take it for something else."""


def case(number: int, found: Mapping[str, Sequence[bytes]]) -> tuple[str, bytes]:
    """Return a case by its number: the reader, and what it is given.

    `found`: what it is made from, besides the corpus.
    """
    rng = random.Random(number)
    names = list(readers.READERS)
    (name,) = rng.choices(names, [readers.READERS[each].share for each in names])
    return name, mutated(rng, rng.choice((*readers.seeds(name), *found.get(name, ()))))


def attempt(name: str, content: bytes, cache: Path, *, seconds: float = SECONDS) -> str:
    """Return how a reader failed at a case; empty: it took the case, or refused it in one sentence.

    `seconds`: processor time that it may take.
    """
    place = Path(tempfile.mkdtemp(prefix="case-", dir=cache))
    os.environ["LEVELFIELD_CACHE"] = str(place / "cache")
    folder = place / "folder"
    folder.mkdir()
    before = signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            readers.READERS[name].read(content, folder)
    except readers.REFUSALS as error:
        said = str(error)
        if "\n" in said or len(said) > 2_000 or getattr(error, "exit_code", 2) not in (1, 2):
            return f"a refusal that is no sentence: {said[:200]!r}"
    except (Exception, _TooSlowError):  # noqa: BLE001  (that is what is looked for)
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        shutil.rmtree(place)
    return ""


def _too_slow(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _TooSlowError("It takes longer than it may in processor time.")
