"""Which rounds of a stream were disturbed: judged again, from the signals that are in it, by today's rule."""

from collections.abc import Sequence

import msgspec

from studies.rigor.record import Generation, Outside, Pair
from suite.machine.disturbance import disturbed
from suite.record.schema import Absent, Noise

_NOT_KEPT = ("swapped", "throttled")
"""Words of reasons whose signals a stream does not keep: what was said of them stands."""
_TURNS = 2
"""A pair's."""


def judge_again(generations: Sequence[Generation], cpus: int, settling_ns: int) -> tuple[Generation, ...]:
    """Return a stream with every pair's turns judged anew.

    Parameters
    ----------
    generations : sequence of Generation
        The stream.
    cpus : int
        Number of CPUs that were watched.
    settling_ns : int
        How long each turn lasted before its timed part began, by the rules of the stream.

    Returns
    -------
    tuple of Generation
    """
    replace = msgspec.structs.replace
    return tuple(
        replace(
            generation,
            rounds=tuple(
                replace(one, pairs=tuple(_pair(pair, cpus, settling_ns) for pair in one.pairs))
                for one in generation.rounds
            ),
        )
        for generation in generations
    )


def _pair(pair: Pair, cpus: int, settling_ns: int) -> Pair:
    kept = [part for part in pair.disturbed.split("; ") if any(word in part for word in _NOT_KEPT)]
    reason = disturbed([_noise(pair.outside)], cpus, settling_ns=_TURNS * settling_ns)
    return msgspec.structs.replace(pair, disturbed="; ".join([*([reason] if reason else []), *kept]))


def _noise(outside: Outside) -> Noise:
    known = {name: getattr(outside, name) for name in Outside.__struct_fields__}
    known = {name: Absent("not known here") if value is None else value for name, value in known.items()}
    absent = Absent("not kept")
    return Noise(**known, context_switches=absent, major_faults=absent, swapped_pages=absent)
