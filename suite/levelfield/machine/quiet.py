"""What on this machine makes timings vary, now and in general.

`wait_until_idle` waits until workers have stopped computing, before another one is timed.

The threads of a framework spin for a while after its last call. ONNX Runtime's spin for a fixed number of iterations,
which took 38 ms of CPU time on one machine; beside another worker that wants the same CPUs they take twice as long by
the wall. Host threads that poll a GPU compute too. No fixed time is right for all machines, so the workers' CPU clocks
are read until they no longer advance, and no thread of theirs waits for a CPU either.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from levelfield.machine import counters
from levelfield.machine import cpu as processor
from levelfield.machine.disturbance import OTHERS_SHARE, PRESSURE_SHARE, STEAL_SHARE, share
from levelfield.machine.findings import Finding, check, gibibytes, ok, warn
from levelfield.machine.reading import ROOT, chosen, integer, kibibytes, online, table, text
from levelfield.machine.signals import Signals, difference
from levelfield.machine.system import timer_step_ns
from levelfield.record.schema import Absent, IdleWait, Noise

_NOW_SECONDS = 1.0
_BUSY_SHARE = 0.02
_COARSE_NS = 1000


def now(seconds: float = _NOW_SECONDS) -> list[Finding]:
    """Measure for a moment: time stolen by the hypervisor, other processes, waiting for a CPU."""
    with Signals() as signals:
        watched = len(signals.cpus)
        processes = _cpu_seconds()
        before = signals.snapshot({})
        time.sleep(seconds)
        noise = difference(before, signals.snapshot({}), None)
        after = _cpu_seconds()
    spent = {
        f"{name} ({pid})": (used - processes[pid, name]) / seconds
        for (pid, name), used in after.items()
        if (pid, name) in processes and pid != os.getpid()
    }
    busiest = sorted((item for item in spent.items() if item[1] > _BUSY_SHARE), key=lambda item: -item[1])[:3]
    return describe(noise, watched, [f"{name} {100 * used:.0f} %" for name, used in busiest])


def describe(noise: Noise, watched: int, busiest: list[str]) -> list[Finding]:
    """Compare a moment's noise with the same limits as a round's."""
    found: list[Finding] = []
    if isinstance(noise.steal_ns, Absent):
        found.append(warn("stolen time", f"It is not known: {noise.steal_ns.reason}.", "Watch the ratios' intervals."))
    else:
        stolen = share([noise], lambda one: one.steal_ns, watched)
        message = f"The hypervisor gives {stolen:.1%} of the CPU time to others right now."
        fix = "Run at a quieter time, or on an instance with CPUs of its own."
        found.append(check("stolen time", message, fix, passed=stolen <= STEAL_SHARE))
    others = min(1.0, share([noise], lambda one: one.others_ns, watched))
    message = f"They use {others:.1%} of the CPU time right now"
    if others > OTHERS_SHARE and busiest:
        names = f"{', '.join(busiest)} of a CPU"
        found.append(warn("other processes", f"{message}: {names}.", "Stop them for the time of the run."))
    elif others > OTHERS_SHARE:
        where = "they are not visible from here (outside of this container, or gone already)"
        found.append(warn("other processes", f"{message}; {where}.", "Run at a quieter time."))
    else:
        found.append(ok("other processes", f"{message}."))
    if isinstance(noise.pressure_ns, Absent):
        fix = "Boot with psi=1, where the kernel has it."
        found.append(warn("waiting for a CPU", f"It is not known: {noise.pressure_ns.reason}.", fix))
    else:
        waiting = share([noise], lambda one: one.pressure_ns, 1)
        message = f"Something waits for a CPU {waiting:.1%} of the time right now."
        fix = "There is more work than CPUs: stop some of it."
        found.append(check("waiting for a CPU", message, fix, passed=waiting <= PRESSURE_SHARE))
    return found


def _cpu_seconds() -> dict[tuple[int, str], float]:
    found: dict[tuple[int, str], float] = {}
    for process in psutil.process_iter():
        try:
            used = process.cpu_times()
            found[process.pid, process.name()] = used.user + used.system
        except psutil.Error:
            continue  # it ended meanwhile, or belongs to another user
    return found


def clock(root: Path = ROOT) -> list[Finding]:
    """Check what moves the processor's clock: governor, turbo, SMT."""
    facts = processor.clock(root)
    governor = facts["governor"]
    found: list[Finding] = []
    if isinstance(governor, Absent):
        found.append(ok("governor", f"It cannot be seen or set: {governor.reason}."))
    elif governor == "performance":
        found.append(ok("governor", "It is `performance`: the clock does not wait for load."))
    else:
        fix = "cpupower frequency-set -g performance (as root), for the time of the run."
        found.append(warn("governor", f"It is `{governor}`: the clock follows the load.", fix))
    if processor.boost(root) is True:
        intel = (root / "sys/devices/system/cpu/intel_pstate/no_turbo").exists()
        setting = (
            "1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
            if intel
            else "0 > /sys/devices/system/cpu/cpufreq/boost"
        )
        fix = f"echo {setting} (as root): slower, and steadier."
        found.append(warn("turbo", "It is on: the clock depends on temperature and on how many cores work.", fix))
    if integer(root / "sys/devices/system/cpu/smt/active") == 1:
        cores = len({processor.siblings((number,), root) for number in online(root)})
        message = f"It is on: two threads share each of the {cores} cores, and slow each other down."
        fix = f"Use no more threads than cores (--threads {cores}), or echo off > /sys/devices/system/cpu/smt/control."
        found.append(warn("SMT", message, fix))
    return found


def memory(root: Path = ROOT) -> list[Finding]:
    """Check for swap that is in use, and the setting of huge pages."""
    info = table(root / "proc/meminfo")
    total, free = kibibytes(info, "SwapTotal"), kibibytes(info, "SwapFree")
    found: list[Finding] = []
    if not isinstance(total, Absent) and not isinstance(free, Absent):
        used = total - free
        if used > total // 10:
            fix = "Close what fills the memory, then swapoff -a && swapon -a (as root)."
            found.append(warn("swap", f"{gibibytes(used)} are swapped out.", fix))
        else:
            found.append(ok("swap", "There is none." if total == 0 else "It is not in use."))
    pages = chosen(root / "sys/kernel/mm/transparent_hugepage/enabled")
    if pages == "always":
        message = "They are `always` on: whether a launch gets them depends on how fragmented memory is."
        fix = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)."
        found.append(warn("huge pages", message, fix))
    elif not isinstance(pages, Absent):
        found.append(ok("huge pages", f"They are set to `{pages}`."))
    return found


def timer(root: Path = ROOT) -> Finding:
    step_ns = timer_step_ns()
    source = text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    name = "" if isinstance(source, Absent) else f" (source `{source}`)"
    if step_ns > _COARSE_NS:
        message = f"It steps by {step_ns} ns{name}: calls of a few microseconds cannot be told apart."
        fix = "See `dmesg | grep -i clocksource` for why the kernel gave up `tsc`, or take larger batches."
        return warn("timer", message, fix)
    return ok("timer", f"It steps by {step_ns} ns{name}.")


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
