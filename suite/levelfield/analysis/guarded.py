"""The only way to read a record that is not trusted: it is read, bounded, and analysed under a guard.

A record that follows the schema may still hold values that no measurement gives. Whatever a computation makes of them,
the reader gets one sentence and the exit code 2: no error may look like a verdict.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from levelfield import analysis
from levelfield.analysis import Analysis
from levelfield.errors import LevelfieldError, clause
from levelfield.record import bounds, files
from levelfield.record.schema import Run
from levelfield.statistics.arrays import InsufficientData, UnusableData


class Record(msgspec.Struct, frozen=True):
    """A record that was read, with what follows from it."""

    file: Path
    run: Run
    analysis: Analysis
    sha256: str
    """Of the file."""
    size_bytes: int

    @property
    def name(self) -> str:
        """Name in messages."""
        return str(self.file)


def read(path: Path) -> Record:
    """Read a record and analyse it.

    Raises LevelfieldError: with one sentence: it cannot be read, is no record, is of a shape that no run has, or holds
    values that no measurement gives.
    """
    file = files.file_of(path)
    content = files.content_of(file)
    run = decode(content, str(file))
    with computing(str(file)):
        found = analysis.analyse(run)
    return Record(file, run, found, hashlib.sha256(content).hexdigest(), len(content))


def decode(content: bytes, name: str) -> Run:
    """Decode a record whose content is not trusted. Raises LevelfieldError: as `read` does."""
    run = files.decode(content, name)
    files.check(run, name)
    bounds.check(run, name)
    return run


@contextlib.contextmanager
def computing(name: str) -> Iterator[None]:
    """Let whatever a computation makes of a record's values end in one sentence; `name` is how it calls the record.

    Raises LevelfieldError: a computation failed, or an array held an overflow, a division by zero or what is no number.
    """
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except MemoryError as error:
        raise _senseless(name, "there is not enough memory for them") from error
    except (
        ArithmeticError, LookupError, ValueError, RecursionError, StopIteration, InsufficientData, UnusableData,
    ) as error:  # fmt: skip
        raise _senseless(name, clause(f"{type(error).__name__} {error}")) from error


def _senseless(name: str, what: str) -> LevelfieldError:
    return LevelfieldError(f"{name} holds values that no measurement gives: {what}.", fix=files.DAMAGED)
