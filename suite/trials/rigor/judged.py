"""Which rounds of a stream were disturbed: said again, from the signals that are in it, by today's rule."""

from collections.abc import Sequence

import msgspec

from suite.machine.disturbance import disturbed
from suite.record.schema import Absent, Noise
from suite.trials.rigor.record import Generation, Outside, Pair, Round

_NOT_KEPT = ("swapped", "throttled")
"""Words of reasons whose signals a stream does not keep: what was said of them stands."""
_TURNS = 2
"""A pair's."""


def again(generations: Sequence[Generation], cpus: int, settling_ns: int) -> tuple[Generation, ...]:
    """Return a stream with every pair's turns judged anew.

    Parameters
    ----------
    cpus
        Number of CPUs that were watched.
    settling_ns
        How long each turn lasted before its timed part began, by the rules of the stream.
    """
    return tuple(
        msgspec.structs.replace(generation, rounds=tuple(_round(each, cpus, settling_ns) for each in generation.rounds))
        for generation in generations
    )


def _round(one: Round, cpus: int, settling_ns: int) -> Round:
    return msgspec.structs.replace(one, pairs=tuple(_pair(pair, cpus, settling_ns) for pair in one.pairs))


def _pair(pair: Pair, cpus: int, settling_ns: int) -> Pair:
    kept = [part for part in pair.disturbed.split("; ") if any(word in part for word in _NOT_KEPT)]
    said = disturbed([_noise(pair.outside)], cpus, settling_ns=_TURNS * settling_ns)
    return msgspec.structs.replace(pair, disturbed="; ".join([*([said] if said else []), *kept]))


def _noise(outside: Outside) -> Noise:
    def known(value: int | None) -> int | Absent:
        return Absent("not known here") if value is None else value

    return Noise(
        elapsed_ns=outside.elapsed_ns,
        steal_ns=known(outside.steal_ns),
        pressure_ns=known(outside.pressure_ns),
        others_ns=known(outside.others_ns),
        supervisor_ns=outside.supervisor_ns,
        idle_workers_ns=known(outside.idle_workers_ns),
        context_switches=Absent("not kept"),
        major_faults=Absent("not kept"),
        swapped_pages=Absent("not kept"),
    )
