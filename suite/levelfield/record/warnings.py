"""Every warning that a user can get: its code, its message and its remedy.

Each function is one warning, and returns it for one situation. The caller, which has the numbers, decides whether it
applies, except for the few limits that are constants here. Terminal, page and record show the same words.

A decorator names the code and the remedy: `_notice` for a warning about the whole run, `_about` for one about a part.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Concatenate, ParamSpec

from levelfield.record.schema import Absent, Arm, Fact, Fingerprint, Launch, Warning_

SUPERVISOR_LIMIT = 0.01
"""Share of a core that the supervisor may use during windows before it is warned of."""
CANARY_LIMIT = 0.10
"""Drift of the canary from which the machine is said to have changed during a run, where noise does not explain it."""
MOST_DIFFERENCES = 5
"""Changed facts of the machine that are named."""
IDLE_LIMIT = 0.05
"""Share of one core's time that workers may use when it is not their turn."""
PRECISION_NOT_REACHED = "precision-not-reached"
"""Code of the warning that a run's ratios are less precise than requested."""
NOT_DECIDED = "not-decided"
BUDGET_SPENT = "budget-spent"
JOURNAL_DAMAGED = "journal-damaged"
OF_AN_END = (BUDGET_SPENT, NOT_DECIDED, PRECISION_NOT_REACHED)
"""Codes of the warnings of what a run lacked when it ended: one that goes on may make it."""
KNOWN_WRONG = "known-wrong"
MKL, _INTEL = "MKL", "GenuineIntel"
STEAL_LIMIT = 0.02
"""Share of the CPU time that the hypervisor may give to other machines over a whole run."""

P = ParamSpec("P")


def _notice(code: str, remedy: str) -> Callable[[Callable[P, str]], Callable[P, Warning_]]:
    """Decorate a function that returns a message: it returns the warning, which concerns the whole run."""

    def decorate(message: Callable[P, str]) -> Callable[P, Warning_]:
        @functools.wraps(message)
        def warn(*args: P.args, **kwargs: P.kwargs) -> Warning_:
            return Warning_(code, message(*args, **kwargs), remedy)

        return warn

    return decorate


def _about(code: str, remedy: str) -> Callable[[Callable[P, str]], Callable[Concatenate[str, P], Warning_]]:
    """Decorate a function that returns a message: it takes the id of the result, case or arm as first argument."""

    def decorate(message: Callable[P, str]) -> Callable[Concatenate[str, P], Warning_]:
        @functools.wraps(message)
        def warn(about: str, /, *args: P.args, **kwargs: P.kwargs) -> Warning_:
            return Warning_(code, message(*args, **kwargs), remedy, about)

        return warn

    return decorate


# ---- where it ran ----------------------------------------------------------------------------------------------------


@_notice(
    "venv-fallback", "Start a container engine (`levelfield doctor` says how), or ask for this with --launcher venv."
)
def fell_back_to_venv(reason: str) -> str:
    return (
        f"{reason.rstrip('. ')}. The same locked wheels ran in virtual environments instead: without a memory limit, "
        "without a network barrier, and with this machine's own system libraries underneath."
    )


def unlocked(image: str, reason: str) -> Warning_:
    return Warning_(
        code="unlocked",
        message=f"{image} did not run from its lock: {reason.rstrip('. ')}. Nobody else can rebuild exactly this.",
        remedy="Leave out --launcher host to run the locked versions.",
        about=image,
    )


@_notice("memory-not-bound", "Use --launcher docker, or allow set_mempolicy where Levelfield itself is in a container.")
def memory_not_bound(reason: str) -> str:
    return (
        f"The memory of workers is not bound to the NUMA nodes that they run on ({reason}). The kernel takes it from "
        "the nearest node while there is room, and launches differ where there is none."
    )


def of_cpus(allowed: int, quota: float | None) -> tuple[Warning_, ...]:
    """Return the warnings that follow from how many CPUs a process may use, and how much of their time."""
    found: list[Warning_] = []
    if quota is not None and quota < allowed:
        found.append(cpu_quota(quota, allowed))
    if allowed == 1:
        found.append(one_cpu())
    return tuple(found)


@_notice("cpu-quota", "Lift the quota (docker run --cpus, cpu.max, a limit of the pod), or measure on another machine.")
def cpu_quota(quota: float, allowed: int) -> str:
    return (
        f"A control group has a quota of {quota:.3g} CPUs on {allowed}: what takes more is stopped for the rest of a "
        "period, often 0.1 s. The default of --threads is within the quota, and at least 1."
    )


@_notice("one-cpu", "Use a machine, a container or a --cpus set with at least two CPUs.")
def one_cpu() -> str:
    return "Only one CPU may be used: workers and the supervisor share it, and every figure holds what they take of it."


@_notice("quota-throttled", "Lift the quota (docker run --cpus, cpu.max), or ask for fewer --threads.")
def throttled_by_quota(times: int, quota: Fact | None) -> str:
    """A control group's quota was used up during windows; `quota` is in CPUs, where the fingerprint has it."""
    size = f" of {quota:.3g} CPUs" if isinstance(quota, float) else ""
    return f"A quota{size} was used up: processes were throttled {times} times while something was measured."


@_about("cuda-build", "Lock a CPU build of that version (`levelfield images lock --index`, `--find-links`).")
def cuda_build() -> str:
    return "It is a build for CUDA that computes on the CPU: a CPU build of the same version may be faster or slower."


@_notice("machine-changed", "Start a new run: figures from before and after the change are not comparable.")
def machine_changed(differences: Sequence[str]) -> str:
    more = f"; and {len(differences) - MOST_DIFFERENCES} more" if len(differences) > MOST_DIFFERENCES else ""
    return f"The machine's settings changed during the run: {'; '.join(differences[:MOST_DIFFERENCES])}{more}."


def of_machine(machine: Fingerprint) -> tuple[Warning_, ...]:
    """Return the warnings that follow from a fingerprint alone."""
    governor = machine.get("clock", {}).get("governor")
    found: list[Warning_] = []
    if isinstance(governor, str) and governor != "performance":
        found.append(governor_not_performance(governor))
    if machine.get("memory", {}).get("transparent huge pages") == "always":
        found.append(huge_pages_always())
    return tuple(found)


@_notice("governor", "Set it for the time of the run: cpupower frequency-set -g performance (as root).")
def governor_not_performance(governor: str) -> str:
    return f"The CPU frequency governor is `{governor}`: the clock follows the load and starts slow."


@_notice("huge-pages", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root), for the time of the run.")
def huge_pages_always() -> str:
    return (
        "Transparent huge pages are `always` on: whether a launch gets them depends on how fragmented memory is, "
        "which makes launches of the same program differ."
    )


def generic_mkl(machine: Fingerprint, arm: Arm, launch: Launch, setting: str) -> Warning_ | None:
    """Return the warning that MKL computes products on a processor of another vendor, or None where it does not.

    MKL chooses its kernels by the processor's vendor as well as by its instruction set ("Notices and Disclaimers" of
    Intel's product documentation: not optimized to the same degree for other microprocessors).
    """
    vendor = machine.get("cpu", {}).get("vendor")
    used = launch.computed.kernels if launch.computed else {}
    by_mkl = {name: count for name, count in used.items() if name.startswith(MKL)}
    if not by_mkl or not isinstance(vendor, str) or vendor == _INTEL:
        return None
    return Warning_(
        code="generic-mkl",
        message=(
            f"{arm.id} computes {sum(by_mkl.values())} of {sum(used.values())} matrix products and convolutions with "
            f"Intel's library ({' and '.join(sorted(by_mkl))}), which may choose slower kernels on processors of other "
            "vendors. The result is true of this wheel on this processor, and says nothing about other processors."
        ),
        remedy=(
            f"Compare it with {arm.backend}+{setting}, and on the hardware you will use: `levelfield ab` does."
            if setting and setting.partition("=")[0] not in arm.settings
            else "Compare on the hardware you will use."
        ),
        about=arm.id,
    )


# ---- what was measured -----------------------------------------------------------------------------------------------


@_notice("smoke", "Leave out --profile smoke for numbers to rely on.")
def smoke() -> str:
    return "This is a smoke run: it shows whether everything works and is equal, and ranks nothing."


@_notice("emulated-processor", "Measure on such a processor.")
def emulated_processor(kinds: str) -> str:
    """The processor that images are for is emulated; `kinds` is that one and this machine's (`aarch64 on x86_64`)."""
    return f"The processor was emulated ({kinds}): answers were compared, and no time of this run says anything."


@_notice("injected", "Never quote it as a result; run again without --inject.")
def injected(arms: Iterable[str]) -> str:
    return f"A slowdown was injected into {', '.join(arms)} on purpose: this run tests the method, not the arms."


def too_few_launches(launches: int, needed: int, cases: Sequence[str], budget_s: float | None) -> Warning_:
    """Cases are not ranked, because none of their arms has enough launches."""
    of_one = cases[0] if len(cases) == 1 else ""
    several = "" if of_one else f" {len(cases)} cases are not ranked, such as {cases[0]}."
    return Warning_(
        code="too-few-launches",
        message=(
            f"{launches} {'launch is' if launches == 1 else 'launches are'} too few to rank by: launches of the same "
            f"program differ, and an interval that can be believed needs {needed}.{several}"
        ),
        remedy=(
            f"Ask for --profile standard (at least {needed} generations)."
            if budget_s is None
            else f"Give a larger --budget: {budget_s:.0f} s were too short, or --resume the run with another one."
        ),
        about=of_one,
    )


def budget_short(cases: Sequence[str], missing_s: float) -> Warning_:
    """Cases are left out of a run that goes on: a budget has no time for the launches that their ranks need."""
    several = "" if len(cases) == 1 else f" and {len(cases) - 1} more"
    minutes = math.ceil(missing_s / 60)
    return Warning_(
        code="budget-short",
        message=f"As it goes, the budget has no time to rank {cases[0]}{several}: that may take {minutes} min more.",
        remedy=f"Measure it afterwards with --resume and --budget {minutes}m, or begin again with a larger budget.",
    )


def budget_spent(
    budget_s: float, left_s: float, missing: int, *, needed_s: float, missing_s: float, before_s: float
) -> Warning_:
    """What was made took `needed_s`, and what was not may take `missing_s`; `before_s`: spent before it went on."""
    budget = f"budget of {budget_s:.0f} s" + (f" ({before_s:.0f} s of it before the run went on)" if before_s else "")
    spent = (
        f"The {budget} was spent"
        if left_s < 1
        else f"Of the {budget} {left_s:.0f} s are left, too few for another pass"
    )
    minutes = max(math.ceil((needed_s + missing_s) / 60), math.floor(budget_s / 60) + 1)
    return Warning_(
        code=BUDGET_SPENT,
        message=(
            f"{spent}; {missing} {'generation was' if missing == 1 else 'generations were'} not made: a rank takes 5 "
            "launches, a verdict of ab 4."
        ),
        remedy=(
            f"About --budget {minutes}m would be enough, or --budget {math.ceil(missing_s / 60)}m with --resume; or "
            "measure fewer models and backends."
        ),
    )


@_about(
    PRECISION_NOT_REACHED,
    "Give a larger --budget, or a quieter machine; differences smaller than that cannot be told here.",
)
def precision_not_reached(reached: float, requested: float) -> str:
    """A case ended before its intervals were as narrow as requested."""
    return f"The widest interval is ± {reached:.1%}, wider than the ± {requested:.1%} that were asked for."


@_about(NOT_DECIDED, "Go on with --resume: the run gets its budget once more. Or measure on a quieter machine.")
def not_decided(known: str) -> str:
    """The budget was spent before a case had a verdict; `known` is its interval so far, or why there is none."""
    return f"The budget was spent before there was a verdict: {known}."


@_about("not-equal", "See its settings: a lower precision or a fast-math mode is the usual cause.")
def not_equal(reason: str) -> str:
    """An output is not equal to the reference; `reason` is a sentence on how it differs, or empty."""
    return f"{reason or 'Its output is not equal to the reference.'} Not ranked."


@_about(
    "not-as-claimed", "See its settings; ask for the precision that it computes in, and it is compared with its like."
)
def not_as_claimed(reason: str) -> str:
    """A result was computed in another precision than requested; `reason` is a sentence on how it shows, or empty."""
    return f"{reason or 'It was computed in another precision than the one asked for.'} Not ranked."


@_about(
    "trains-otherwise",
    "See its optimizer and settings: another form of epsilon, decay or bias correction is the usual cause.",
)
def trains_otherwise(reason: str) -> str:
    """A training step differs from the reference's; `reason` is a sentence on how it shows, or empty."""
    return f"{reason or 'It does not train as the reference does.'} Not ranked."


def emulated(precision: str, reason: str) -> Warning_:
    return Warning_(
        code="emulated",
        message=f"{reason}: what was measured in {precision} is its emulation and says nothing about other processors.",
        remedy="Measure on the processor that you will use; the flags of this one are under Machine.",
        about=precision,
    )


@_about("launches-failed", "See its details; its numbers rest on the launches that did not.")
def launches_failed(failed: int, message: str) -> str:
    return f"{failed} of its launches failed: {message}"


@_notice("cut-off", "Take it up again with --resume.")
def cut_off() -> str:
    return "The run was cut off before its end; what is here was measured."


# ---- how quiet it was ------------------------------------------------------------------------------------------------


@_notice(JOURNAL_DAMAGED, "Go on with the run (--resume) to measure the missing generations again.")
def journal_damaged(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    return (
        f"{len(lines)} {'line' if len(lines) == 1 else 'lines'} of the run's journal cannot be read ({shown}): the "
        "file was damaged or changed. The generations they belong to end before them."
    )


@_notice(
    "too-disturbed",
    "Stop other work on this machine, or run it where nobody else computes; `levelfield doctor` names sources.",
)
def too_disturbed(disturbed: int, total: int, fate: str) -> str:
    return (
        f"{disturbed} of {total} rounds were disturbed from outside and {fate}. The figures may still hold some of "
        "the disturbance."
    )


@_notice("steal", "Run at a quieter time, or on an instance with CPUs of its own.")
def stolen(share: float) -> str:
    return f"The hypervisor gave {share:.1%} of the CPU time to other machines while windows were measured."


@_notice(
    "supervisor-busy", "Give the workers cores of their own (fewer --threads), and close what follows the terminal."
)
def supervisor_busy(share: float) -> str:
    return f"The supervisor itself used {share:.1%} of a core while windows were measured."


@_notice(
    "idle-workers-busy", "Measure fewer backends together, or those that spin without it (onnxruntime+spinning=off)."
)
def idle_workers_busy(share: float) -> str:
    """Workers used CPU time while it was not their turn: `share` of the time of the turns; 1 is one core."""
    return (
        f"Workers whose turn it was not used {share:.1%} of a core: some framework's threads go on spinning after "
        "its turn, and take time from the next."
    )


def never_still(arm: str, windows: int, total: int) -> Warning_:
    return Warning_(
        code="never-still",
        message=(
            f"{windows} of {total} windows began while {arm} was still computing, though it had nothing to do: the "
            "longest wait for its threads was over. It takes time from all others."
        ),
        remedy="Measure it without spinning where it has the setting (onnxruntime+spinning=off), or leave it out.",
        about=arm,
    )


@_about("slow-start", "Take more windows of each launch (--profile full), which shows where it settles.")
def slow_start(excess: float) -> str:
    """Launches began slowly, in too few windows to show where they reach a steady speed."""
    return (
        f"Its launches began slowly: their first windows took {excess:.0%} longer than their last ones. The slow "
        "ones are left out, and nothing shows that those left are settled: its times may still be too long."
    )


@_notice(
    "machine-moved", "Let the machine reach its steady temperature and load before the run, and pin its frequency."
)
def machine_moved(drift: float) -> str:
    way = "slower" if drift > 0 else "faster"
    return (
        f"The same fixed work was {abs(drift):.0%} {way} in the last third of the run than in the first: the "
        "machine changed. Ratios within a block hold; times of different blocks do not compare."
    )


@_notice("throttled", "Cool it, or set a lower fixed frequency that it can hold.")
def throttled(times: int) -> str:
    return f"The processor lowered its clock {times} times because it was too hot or drew too much power."


@_about(
    "contended-throughout",
    "Measure at another hour or on another machine; `levelfield doctor --measure` shows how often this one is calm.",
)
def contended_throughout(share: float) -> str:
    return f"The machine was contended throughout: {share:.0%} of its probes were calm. Windows of every state count."


@_about("ranks-differ-by-state", "Ranks are of the calm machine: where neighbours are busy, compare the other column.")
def ranks_differ_by_state(best: str, arms: Sequence[str]) -> str:
    return f"When a neighbour is busy, {' and '.join(arms)} {'is' if len(arms) == 1 else 'are'} faster than {best}."


@_about(
    "gpu-throttled", "Cool it, or fix a clock that it can hold: nvidia-smi -lgc (as root); it holds for all arms alike."
)
def gpu_throttled(windows: int, total: int, reasons: Sequence[str]) -> str:
    """The GPU's clock was reduced while a case was measured."""
    return f"The GPU's clock was held down in {windows} of {total} windows: {', '.join(reasons)}."


@_about("gpu-memory-errors", "Do not trust these numbers; see nvidia-smi -q -d ECC, and have the GPU looked at.")
def gpu_memory_errors(count: int) -> str:
    """The GPU had `count` memory errors which it could not correct during the windows of a case."""
    return f"The GPU counted {count} memory errors that it could not correct while this was measured."


@_about(
    "gpu-xid",
    "Do not trust these numbers; `dmesg | grep Xid` names the process. 13, 31 and 43 may be a program's fault, "
    "the others are the machine's: have the GPU looked at.",
)
def gpu_xid(codes: Sequence[int]) -> str:
    """The driver reported errors of the GPU: XID codes in the order of the reports, with repetitions.

    References
    ----------
    NVIDIA, XID Errors (GPU deployment and management documentation): the meanings of the common codes, shortened.
    """
    listed = ", ".join(f"{code} ({_XID[code]})" if code in _XID else str(code) for code in dict.fromkeys(codes))
    return f"NVIDIA's driver reported errors of the GPU while this was measured ({len(codes)}): XID {listed}."


_XID = {
    13: "a kernel failed",
    31: "memory that is not there was asked for",
    43: "a program's work was stopped",
    45: "work was cleared away",
    48: "a memory error of two bits",
    63: "a memory row is retired",
    64: "a memory row could not be retired",
    74: "NVLink failed",
    79: "the GPU fell off the bus",
    92: "many corrected memory errors",
    94: "a contained memory error",
    95: "an uncontained memory error",
    119: "the GPU's own processor does not answer",
}


@_about(
    "gpu-memory-divided",
    "Free the GPU (nvidia-smi lists who holds its memory), or ask for fewer backends or a smaller batch.",
)
def gpu_memory_divided(
    groups: Sequence[Sequence[str]], needed_bytes: int, free_bytes: int | Absent, out: Sequence[str]
) -> str:
    """The GPU's memory is not enough for all arms of a case at once."""
    free = "an unknown part" if isinstance(free_bytes, Absent) else f"{free_bytes / 2**30:.1f} GiB"
    why = (
        f"{' and '.join(out)} ran out of the GPU's memory beside others"
        if out
        else f"together they would need about {needed_bytes / 2**30:.1f} GiB of the GPU's memory, and {free} is free"
    )
    each = all(len(group) == 1 for group in groups)
    how = "one at a time" if each else f"in {len(groups)} groups ({'; '.join(map(', '.join, groups))})"
    return f"Its arms were measured {how}, since {why}: only those that were together took turns."


@_about("gpu-memory-short", "Free the GPU (nvidia-smi lists who holds its memory), or take a smaller batch.")
def gpu_memory_short(needed_bytes: int, room_bytes: int) -> str:
    """By estimate an arm does not fit on the GPU even alone; it is tried all the same."""
    return (
        f"It may need about {needed_bytes / 2**30:.1f} GiB of the GPU's memory, and {room_bytes / 2**30:.1f} GiB "
        "can be had: it was tried alone."
    )


@_about("gpu-shared", "Stop them for the time of the run (nvidia-smi lists them), or take another GPU with --gpu.")
def gpu_shared(processes: int, held_bytes: int) -> str:
    which = "Another process was" if processes == 1 else f"{processes} other processes were"
    held = f", with {held_bytes / 2**30:.1f} GiB of its memory" if held_bytes else ""
    return (
        f"{which} on the GPU while this was measured{held}. The GPU divides its time between processes, so that calls "
        "of some microseconds may take milliseconds; NVML does not report which windows were affected."
    )


@_about("gpu-one-process", "Let several in for the time of the run: nvidia-smi -c DEFAULT (as root).")
def gpu_one_process() -> str:
    return (
        "The GPU lets one process in at a time (its compute mode), so that arms were measured one after the other "
        "and took no turns: where the machine drifted meanwhile, ratios hold the drift."
    )


# ---- driver and CUDA -------------------------------------------------------------------------------------------------


@_notice(
    "driver-on-one-side", "Compare cases of the CPU only, or see `levelfield doctor` on the machine that has none."
)
def driver_on_one_side(before: str | None, after: str | None) -> str:
    """Only one side of a comparison had an NVIDIA driver."""
    what = f"The driver {before} is gone" if after is None else f"There is a driver now, {after}"
    return f"{what}: one side of the comparison has no NVIDIA driver that answers."


@_notice("driver-older", "If that was not meant, install the newer one again, restart, and measure anew.")
def driver_older(before: str, after: str) -> str:
    return f"The NVIDIA driver went back from {before} to {after}."


def cuda_misfit(about: str, message: str, remedy: str) -> Warning_:
    """An image's CUDA release is not made for the driver or the GPU it ran on."""
    general = "Take a driver that the release was made for, or a variant that fits (`levelfield doctor`)."
    return Warning_("cuda-misfit", message, remedy or general, about)


def gpu_not_used(message: str, remedy: str) -> Warning_:
    """There is a GPU, and nothing can run on it."""
    return Warning_(
        code="gpu-not-used",
        message=f"This machine's GPU is not used, and everything runs on its CPU: {message}",
        remedy=remedy or "See `levelfield doctor`.",
    )


def left_out(arms: Sequence[str], reason: str, remedy: str = "Ask for them on the CPU: --variant cpu.") -> Warning_:
    return Warning_("left-out", f"Left out, since {reason}: {', '.join(arms)}.", remedy)


@_about("not-divided", "Leave --processes out to measure it in one process.")
def not_divided(reason: str) -> str:
    """A model cannot be trained in several processes; `reason` is a sentence on why."""
    return f"{reason} It was left out."


@_notice(
    "not-installed", "Install it here, or leave out --launcher host: images and virtual environments bring their own."
)
def not_installed(arms: Sequence[str]) -> str:
    return f"Left out, since this interpreter lacks what they need: {', '.join(arms)}."


@_notice(
    "other-python",
    "Install the Python that the current lock is for, or use a container engine: images bring their own.",
)
def other_python(arms: Sequence[tuple[str, str]]) -> str:
    moved = ", ".join(f"{used} in place of {current}" for current, used in arms)
    return f"The Python of a current lock is not here, so that the newest for one that is here is used: {moved}."


@_about(
    "library-shadowed", "Take it off LD_LIBRARY_PATH and out of the loader's configuration, or use the docker launcher."
)
def not_the_locked_library(message: str) -> str:
    """An arm loaded another library than the locked one: `message` says which, without its full stop.

    `LD_LIBRARY_PATH` or the configuration of the system's loader names it first.
    """
    return f"{message}."


def known_wrong(about: str, message: str, remedy: str) -> Warning_:
    return Warning_(KNOWN_WRONG, message, remedy, about)


def known_bad(about: str, message: str, remedy: str) -> Warning_:
    return Warning_("known-bad", message, remedy, about)
