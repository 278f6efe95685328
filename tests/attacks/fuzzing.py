"""Trying cases on readers, each bounded in processor time and in memory."""

import faulthandler
import hashlib
import os
import random
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType

import msgspec
import psutil

from levelfield.worker.probes import memory
from tests.attacks import readers
from tests.attacks.mutating import mutated

SECONDS = 5.0
"""Processor time that a case may take."""
BYTES = 500_000_000
"""Memory that a case may take, beyond what was taken before the first."""
HANG_S = 300.0
"""A case that neither ends nor computes is ended after this long, with all that runs: on a busy machine others wait."""


class Failure(msgspec.Struct, frozen=True):
    """A case that ended in something else than an answer or a refusal."""

    reader: str
    what: str
    """The error and its message, shortened."""
    where: str
    """The last line of this tool that it came from."""
    sha256: str
    """Of what the reader was given."""


class Found(msgspec.Struct, frozen=True):
    """What came of some cases."""

    accepted: dict[str, int]
    refused: dict[str, int]
    """By reader."""
    failures: tuple[Failure, ...]
    slowest_s: float
    """Processor time of the slowest case."""
    slowest: str
    """Its reader."""
    grown_bytes: int
    """The most memory at any time, beyond what was taken before the first case."""


class _TooSlowError(BaseException):
    """No code that catches every `Exception` may take it for something else."""


def case(number: int) -> tuple[str, bytes]:
    """Return a case by its number, without guidance: the reader, and what it is given."""
    rng = random.Random(number)
    names = list(readers.READERS)
    (name,) = rng.choices(names, [readers.READERS[each].share for each in names])
    return name, mutated(rng, rng.choice(readers.seeds(name)))


class Trial:
    """Cases one after the other, in this process, and what comes of them.

    Parameters
    ----------
    cache
        Folder that stands for the tool's cache; what readers put there goes away after each case.
    keep
        Folder for what readers failed at, each under its reader's name and the beginning of its digest.
    """

    def __init__(self, cache: Path, keep: Path | None = None) -> None:
        readers.numpy_is_ready()
        self._cache, self._keep = cache, keep
        self._accepted: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._failures: list[Failure] = []
        self._slowest_s, self._slowest = 0.0, ""
        # The peak begins here: what this process held before is no reader's doing (proc_pid_clear_refs(5)).
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._before_bytes = psutil.Process().memory_info().rss

    def take(self, name: str, content: bytes) -> None:
        """Give a reader one case."""
        began_s = _processor_s()
        result = attempt(name, content, self._cache)
        took_s = _processor_s() - began_s
        if took_s > self._slowest_s:
            self._slowest_s, self._slowest = took_s, name
        if isinstance(result, Failure):
            self._failures.append(result)
            if self._keep is not None:
                (self._keep / kept_as(result)).write_bytes(content)
        else:
            (self._accepted if result else self._refused)[name] += 1

    def found(self) -> Found:
        """Return what came of all cases so far."""
        peak_bytes = memory().peak_rss_bytes
        grown = (peak_bytes if isinstance(peak_bytes, int) else 0) - self._before_bytes
        return Found(
            dict(self._accepted),
            dict(self._refused),
            tuple(self._failures),
            self._slowest_s,
            self._slowest,
            max(grown, 0),
        )


def kept_as(failure: Failure) -> str:
    """Return the name of the file that holds what a reader failed at."""
    return f"{failure.reader}-{failure.sha256[:12]}"


def attempt(name: str, content: bytes, cache: Path) -> Failure | bool:
    """Return whether a reader took a case; or how it failed."""
    place = Path(tempfile.mkdtemp(prefix="case-", dir=cache))
    os.environ["LEVELFIELD_CACHE"] = str(place / "cache")
    folder = place / "folder"
    folder.mkdir()
    before = signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            readers.READERS[name].read(content, folder)
    except readers.REFUSALS as error:
        said = str(error)
        if "\n" in said or len(said) > 2_000 or getattr(error, "exit_code", 2) not in (1, 2):
            return _failure(name, f"a refusal that is no sentence: {said[:200]!r}", error, content)
        return False
    except (Exception, _TooSlowError) as error:  # noqa: BLE001  (that is what is looked for)
        return _failure(name, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", error, content)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        shutil.rmtree(place)
    return True


def limit_memory() -> None:
    """Let this process take `BYTES` more than it has, and refuse it the rest."""
    readers.numpy_is_ready()
    most = psutil.Process().memory_info().vms + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _too_slow(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _TooSlowError(f"It takes longer than {SECONDS:g} s of processor time.")


def _processor_s() -> float:
    return sum(os.times()[:2])


def _failure(name: str, what: str, error: BaseException, content: bytes) -> Failure:
    return Failure(name, what, _place(error), hashlib.sha256(content).hexdigest())


def _place(error: BaseException) -> str:
    ours = [each for each in traceback.extract_tb(error.__traceback__) if "/levelfield/" in each.filename]
    return f"{ours[-1].filename.rpartition('/levelfield/')[2]}:{ours[-1].lineno}" if ours else ""
