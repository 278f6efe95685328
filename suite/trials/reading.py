"""The records of trials read back from their files, whatever the trial."""

from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from suite.errors import LevelfieldError


class _Versioned(Protocol):
    @property
    def schema(self) -> int: ...


_R = TypeVar("_R", bound=_Versioned)


def read(path: Path, kind: type[_R], *, schema: int, most_bytes: int, trial: str) -> _R:
    """Read a trial's record.

    Parameters
    ----------
    path
        Its file.
    kind, schema, most_bytes
        Its type, the version of that type, and how large such a file may be.
    trial
        Which trial, for the message: "the rigor trial".

    Raises
    ------
    LevelfieldError
        It is not there, or not such a record.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise LevelfieldError(f"{path} is larger than any record of this trial.")
        record = msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise LevelfieldError(f"{path} cannot be read: {error.strerror or error}.") from error
    except msgspec.MsgspecError as error:
        raise LevelfieldError(f"{path} is not a record of {trial}: {error}.") from error
    if record.schema != schema:
        raise LevelfieldError(
            f"{path} has schema {record.schema}, this Levelfield reads {schema}.",
            fix="Use the Levelfield that wrote it.",
        )
    return record
