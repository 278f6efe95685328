"""Cases for all readers, by number: the same number is the same case, bounded in processor time and in memory."""

import faulthandler
import os
import random
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import msgspec
import psutil

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

    case: int
    reader: str
    what: str
    """The error and its message, shortened."""
    where: str
    """The last line of this tool that it came from."""


class Found(msgspec.Struct, frozen=True):
    """What came of some cases."""

    accepted: dict[str, int]
    refused: dict[str, int]
    failures: tuple[Failure, ...]
    slowest_s: float
    """Processor time of the slowest case."""
    slowest: int
    grown_bytes: int
    """The most memory at any time, beyond what was taken before the first case."""


class _TooSlowError(BaseException):
    """No code that catches every `Exception` may take it for something else."""


def case(number: int) -> tuple[str, bytes]:
    """Return a case: the reader, and what it is given."""
    rng = random.Random(number)
    names = list(readers.READERS)
    (name,) = rng.choices(names, [readers.READERS[each].share for each in names])
    return name, mutated(rng, rng.choice(readers.seeds(name)))


def run(numbers: Iterable[int], cache: Path) -> Found:
    """Try cases one after the other, in this process.

    Parameters
    ----------
    numbers
        Of the cases.
    cache
        Folder that stands for the tool's cache; what readers put there goes away after each case.
    """
    accepted: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    failures: list[Failure] = []
    slowest_s, slowest = 0.0, -1
    readers.numpy_is_ready()
    before_bytes = psutil.Process().memory_info().rss
    for number in numbers:
        name, content = case(number)
        began_s = _processor_s()
        failure = _try(number, name, content, cache)
        took_s = _processor_s() - began_s
        if took_s > slowest_s:
            slowest_s, slowest = took_s, number
        if isinstance(failure, Failure):
            failures.append(failure)
        else:
            (accepted if failure else refused)[name] += 1
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before_bytes
    return Found(dict(accepted), dict(refused), tuple(failures), slowest_s, slowest, max(grown, 0))


def _try(number: int, name: str, content: bytes, cache: Path) -> Failure | bool:
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
            return Failure(number, name, f"a refusal that is no sentence: {said[:200]!r}", _place(error))
        return False
    except (Exception, _TooSlowError) as error:  # noqa: BLE001  (that is what is looked for)
        return Failure(number, name, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", _place(error))
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        shutil.rmtree(place)
    return True


def part(numbers: range) -> Found:
    """Try cases in a process of their own."""
    limit_memory()
    with tempfile.TemporaryDirectory(prefix="levelfield-fuzz-") as cache:
        return run(numbers, Path(cache))


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


def _place(error: BaseException) -> str:
    ours = [each for each in traceback.extract_tb(error.__traceback__) if "/suite/" in each.filename]
    return f"{ours[-1].filename.rpartition('/suite/')[2]}:{ours[-1].lineno}" if ours else ""
