"""The error for an unknown name, with close matches."""

import difflib
from collections.abc import Iterable

from suite.errors import LevelfieldError


def unknown(kind: str, name: str, known: Iterable[str]) -> LevelfieldError:
    """Return the error for a name that is not known: it suggests close matches, else all known names.

    Examples
    --------
    >>> print(unknown("image", "troch", ["torch", "jax"]))
    There is no image called 'troch'. Did you mean 'torch'?
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        fix = "Did you mean " + " or ".join(f"{each!r}" for each in close) + "?"
    else:
        fix = f"Known: {', '.join(names)}." if names else "There are none."
    return LevelfieldError(f"There is no {kind} called {name!r}.", fix=fix)
