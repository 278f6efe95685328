"""Wait until workers have stopped computing, before another one is timed.

The threads of a framework spin for a while after its last call. ONNX Runtime's spin for a fixed number of iterations,
which took 38 ms of CPU time on one machine; beside another worker that wants the same CPUs they take twice as long by
the wall. Host threads that poll a GPU compute too. No fixed time is right for all machines, so the workers' CPU clocks
are read until they no longer advance, and no thread of theirs waits for a CPU either.
"""

import time
from collections.abc import Mapping

from levelfield.machine import counters
from levelfield.record.schema import Absent, IdleWait

POLL_NS = 1_000_000
STILL_NS = 3_000_000
"""The clocks must not advance for this long."""
STILL_CPU_NS = 150_000
"""A clock that advances by no more than this counts as idle: 5 % of `STILL_NS`, the share of idle workers' CPU time
from which `machine.disturbance` calls a round disturbed."""
LIMIT_NS = 300_000_000
"""The longest wait. Intel's OpenMP spins for 200 ms (`KMP_BLOCKTIME`), the longest default among those known."""


def wait_until_idle(workers: Mapping[str, int | None], *, limit_ns: int = LIMIT_NS) -> IdleWait:
    """Sleep until the CPU clocks of all workers stop advancing, or the limit is reached.

    `workers`: arm to process id, as this process sees it; None or 0 where it does not see it. `limit_ns`: the longest
    wait, nanoseconds.
    """
    began_ns = now_ns = time.monotonic_ns()
    clocks = {arm: counters.family_cpu_ns(pid) if pid else Absent("unseen") for arm, pid in workers.items()}
    unseen = tuple(sorted(arm for arm, clock in clocks.items() if isinstance(clock, Absent)))
    last_ns = {arm: clock for arm, clock in clocks.items() if not isinstance(clock, Absent)}
    since_ns = dict.fromkeys(last_ns, began_ns)
    while True:
        busy = [arm for arm, since in since_ns.items() if now_ns - since < STILL_NS]
        if not busy:
            busy = [arm for arm in since_ns if counters.family_runs(workers[arm] or 0)]
            since_ns |= dict.fromkeys(busy, now_ns)
        if not busy or now_ns - began_ns >= limit_ns:
            return IdleWait(waited_ns=now_ns - began_ns, busy=tuple(sorted(busy)), unseen=unseen)
        time.sleep(POLL_NS / 1e9)
        for arm in list(since_ns):
            spent, now_ns = counters.family_cpu_ns(workers[arm] or 0), time.monotonic_ns()
            if isinstance(spent, Absent):
                del since_ns[arm]
            elif spent - last_ns[arm] > STILL_CPU_NS:
                last_ns[arm], since_ns[arm] = spent, now_ns
