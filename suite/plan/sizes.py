"""The batch sizes that are measured, and their limit."""

from collections.abc import Sequence

from suite.errors import LevelfieldError

MAX_BATCH = 65536


def batches(asked: Sequence[int], otherwise: tuple[int, ...]) -> tuple[int, ...]:
    """Return the batches to measure, each once.

    Parameters
    ----------
    asked
        Batches that the user named; empty: `otherwise`.
    otherwise
        Batches of the profile.

    Raises
    ------
    LevelfieldError
        A batch is empty, or larger than `MAX_BATCH`.
    """
    for batch in asked:
        if not 1 <= batch <= MAX_BATCH:
            raise LevelfieldError(
                f"A batch of {batch} cannot be measured.", fix=f"Choose a number from 1 to {MAX_BATCH}."
            )
    return tuple(dict.fromkeys(asked)) or otherwise
