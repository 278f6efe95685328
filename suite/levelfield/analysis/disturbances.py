"""What disturbed rounds, once for each kind of signal, with the range of what was read."""

import itertools
from collections.abc import Iterable

from levelfield.record.disturbance import Disturbed, in_words


def fate(disturbed: int, kept: int) -> str:
    """Say what became of disturbed rounds, as the end of a sentence that begins with them.

    Examples
    --------
    >>> fate(3, 3)
    'count all the same, since their generations had no others'
    >>> fate(3, 0)
    'are left out'
    >>> fate(3, 1)
    'are left out, but for 1 whose generation had no others'
    """
    if kept == disturbed:
        return "count all the same, since their generations had no others"
    return f"are left out, but for {kept} whose generation had no others" if kept else "are left out"


def summarise(rounds: Iterable[Disturbed]) -> tuple[str, ...]:
    """Return a clause for each signal, with the range of its values and in how many rounds it was.

    Examples
    --------
    >>> from levelfield.record.disturbance import Reason
    >>> summarise([(Reason("steal", 0.092),), (), (Reason("steal", 0.04), Reason("quota", 3))])
    ('the hypervisor took 4.0–9.2% of the CPU time (2 rounds)', 'a CPU quota throttled processes 3 times')
    """
    values: dict[str, list[float]] = {}
    for reason in itertools.chain.from_iterable(rounds):
        values.setdefault(reason.signal, []).append(reason.value)
    return tuple(
        in_words(signal, *read) + (f" ({len(read)} rounds)" if len(read) > 1 else "") for signal, read in values.items()
    )
