"""The rule by which a round is called disturbed. It looks at outside signals only, never at the timings themselves.

A round is judged as a whole: the counters of its turns are added up, because some of them step by 10 ms and a single
short window would be judged by the luck of a tick. The capacity of a round is the time of its turns times the number
of CPUs watched.

========================  ==========================================  ============================================
signal                    disturbed when more than                    why this much
========================  ==========================================  ============================================
stolen time               2 % of the capacity                         the margin of a verdict is 2 %
others' CPU time          5 % of the capacity                         housekeeping of a quiet system takes 1 to 3 %
idle workers' CPU time    5 % of the capacity                         a sleeping worker takes none
waiting for a CPU         10 % of the time, while others and the      a worker's own threads wait for one another
                          hypervisor took more than 1 %               too, and that is no disturbance
swapped pages             1 MiB                                       a few pages may be anybody's
throttling                any                                         the clock itself was changed
throttling by a quota     any                                         all threads stop for the rest of a period
========================  ==========================================  ============================================

A worker's threads spin for a while after its last call (38 ms in ONNX Runtime). A turn begins when all of them have
stopped (`machine.quiet`), so that no CPU time of idle workers is expected in it.

A single window is judged by the same table beside its probes (`record.states`): a program of this machine that
takes a CPU is not seen by work of a millisecond, which the scheduler lets run at once.

Shares below two ticks of 10 ms a CPU are never called a disturbance. A signal that is absent disturbs nothing.
"""

from collections.abc import Callable, Iterable, Sequence

from levelfield.machine.counters import TICK_NS
from levelfield.record.schema import Absent, Noise, Reason

STEAL_SHARE = 0.02
OTHERS_SHARE = 0.05
IDLE_WORKERS_SHARE = 0.05
PRESSURE_SHARE = 0.10
OUTSIDE_SHARE = 0.01
"""Pressure counts only beside this much stolen time and others' CPU time."""
SWAPPED_PAGES = 256
"""1 MiB in pages of 4 KiB."""
FLOOR_TICKS = 2
"""Ticks of a CPU below which a share is too coarse to count."""
SHARES = {
    "steal": STEAL_SHARE, "others": OTHERS_SHARE, "idle workers": IDLE_WORKERS_SHARE, "pressure": PRESSURE_SHARE,
}  # fmt: skip
SUMS = {"swapped pages": SWAPPED_PAGES, "throttled": 0, "quota": 0}


def reasons(turns: Sequence[Noise], cpus: int) -> tuple[Reason, ...]:
    """Return the signals beyond their limits: of a round, or of a single window."""
    if not turns or cpus < 1:
        return ()
    read = values(turns, cpus)
    floor = FLOOR_TICKS * TICK_NS / max(1, sum(noise.elapsed_ns for noise in turns))
    if read["steal"] + read["others"] <= max(OUTSIDE_SHARE, floor):
        read["pressure"] = 0.0
    limits = {signal: max(limit, floor) for signal, limit in SHARES.items()} | SUMS
    return tuple(Reason(signal, value, limits[signal]) for signal, value in read.items() if value > limits[signal])


def values(turns: Sequence[Noise], cpus: int) -> dict[str, float]:
    """Return the signals of some turns: shares of a capacity, and numbers of events."""
    return {
        "steal": share(turns, lambda noise: noise.steal_ns, cpus),
        "others": share(turns, lambda noise: noise.others_ns, cpus),
        "idle workers": share(turns, lambda noise: noise.idle_workers_ns, cpus),
        "pressure": share(turns, lambda noise: noise.pressure_ns, 1),
        "swapped pages": _sum(noise.swapped_pages for noise in turns),
        "throttled": _sum(noise.throttled for noise in turns),
        "quota": _sum(noise.quota_throttled for noise in turns),
    }


def share(turns: Sequence[Noise], signal: Callable[[Noise], int | Absent], cpus: int) -> float:
    """Return a signal's time as a share of the capacity of those turns in which it is known.

    `signal`: returns the signal of a turn, in nanoseconds, or absent.
    """
    known = [(value, noise.elapsed_ns) for noise in turns if not isinstance(value := signal(noise), Absent)]
    capacity_ns = sum(elapsed for _, elapsed in known) * cpus
    return sum(value for value, _ in known) / capacity_ns if capacity_ns > 0 else 0.0


def _sum(values: Iterable[int | Absent]) -> int:
    return sum(value for value in values if isinstance(value, int))
