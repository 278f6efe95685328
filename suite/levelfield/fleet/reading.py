"""Read the records of a fleet: each is a stranger's, and one that is damaged or hostile costs only itself.

A record of some megabytes takes a tenth of a second, nearly all of it to decode and check it, so that many are read in
two processes. Only what a verdict needs of a record is kept (`compare.reduction`).
"""

import gc
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import msgspec

from levelfield.compare import sides
from levelfield.compare.reduction import Reduced
from levelfield.errors import LevelfieldError
from levelfield.fleet.folders import Place
from levelfield.record import page
from levelfield.safety import untrusted

MOST_BYTES = 64 * 1024 * 1024
"""Largest record of a node that is read: a run of an hour has some ten megabytes."""
PROCESSES = 2
FEW = 8
"""Up to so many records are read in this process: to start others takes longer."""


class Unread(msgspec.Struct, frozen=True):
    """A record that was not read."""

    reason: str
    """A sentence that names the record."""


def read_all(places: Sequence[Place]) -> Iterator[Reduced | Unread]:
    """Read records, and yield what became of each, in their order.

    Raises LevelfieldError: the system ended a process that reads records.
    """
    if len(places) <= FEW:
        yield from map(read, places)
        return
    # Processes that are forked from one with threads may hang; what they send back is pickled by our own code.
    pool = ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        yield from pool.map(read, places, chunksize=4)
    except BrokenProcessPool as error:
        raise LevelfieldError(
            "The system ended a process that reads records.", fix="Free memory, or gather fewer nodes at a time."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Leave an interrupt from the keyboard to the process that started this one, and collect no garbage.

    A record has a million objects, none of them in a cycle: looking through them takes a tenth of the time.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def read(place: Place) -> Reduced | Unread:
    """Read one record; whatever is wrong with it is told in a sentence."""
    try:
        content = untrusted.read_plain(place.record, MOST_BYTES, follow_links=False)
        return sides.from_content(page.record_in(content, MOST_BYTES), place.name)
    except LevelfieldError as error:
        return Unread(error.message)
    except untrusted.TooLargeError:
        return Unread(f"{place.name} is longer than {MOST_BYTES:,} bytes, the most that a record in a fleet may have.")
    except OSError as error:
        return Unread(f"{place.name} cannot be read: {error.strerror or error}.")
    except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
        return Unread(f"{place.name} cannot be analysed: {error.__class__.__name__}: {error}.")
