"""Every warning that a user can get: the situation, its meaning for the numbers, and what to do about it.

Each function returns the warning for one situation; the caller, which has the numbers, decides whether it applies,
except for the few limits that are constants here. Terminal, page and record show the same words. `about` is the result,
block or image that the warning concerns; empty, it concerns the whole run.
"""

from collections.abc import Iterable, Sequence

from suite.record.schema import Absent, Arm, Fact, Fingerprint, Launch, Warning_

SUPERVISOR_LIMIT = 0.01
"""Share of a core that the supervisor may use during windows before it is said to have been in the way."""
CANARY_LIMIT = 0.10
"""Drift of the canary from which the machine is said to have changed during a run, where noise does not explain it."""
MOST_DIFFERENCES = 5
"""Changed facts of the machine that are named."""
CLOCK_LIMIT = 0.01
"""A clock's step may be this share of the median it measures."""
IDLE_LIMIT = 0.05
"""Share of one core's time that workers may use when it is not their turn."""
PRECISION_NOT_REACHED = "precision-not-reached"
NOT_DECIDED = "not-decided"
"""Code of the warning that a run's ratios are not as precise as was asked."""
MKL, _INTEL = "MKL", "GenuineIntel"
STEAL_LIMIT = 0.02
"""Share of the CPU time that the hypervisor may give to others over a whole run."""
FULL_RANDOMISATION = 2
"""Of kernel.randomize_va_space: addresses of stack, mapped memory and heap are random; 1: not the heap's, 0: none."""


# ---- where it ran ----------------------------------------------------------------------------------------------------


def fell_back_to_venv(reason: str) -> Warning_:
    """Return the warning that no container engine answered, so that virtual environments were used instead."""
    return Warning_(
        code="venv-fallback",
        message=(
            f"{reason.rstrip('. ')}. The same locked wheels ran in virtual environments instead: without a memory "
            "limit, without a network barrier, and with this machine's own system libraries underneath."
        ),
        remedy="Start a container engine (`levelfield doctor` says how), or ask for this with --launcher venv.",
    )


def unlocked(image: str, reason: str) -> Warning_:
    """Return the warning that an image or environment was not made from its lock.

    Parameters
    ----------
    image
        Name of the image.
    reason
        A sentence on what ran instead.
    """
    return Warning_(
        code="unlocked",
        message=f"{image} did not run from its lock: {reason.rstrip('. ')}. Nobody else can rebuild exactly this.",
        remedy="Leave out --launcher host to run the locked versions.",
        about=image,
    )


def machine_changed(differences: Sequence[str]) -> Warning_:
    """Return the warning that the machine's fingerprint changed during a run."""
    more = f"; and {len(differences) - MOST_DIFFERENCES} more" if len(differences) > MOST_DIFFERENCES else ""
    return Warning_(
        code="machine-changed",
        message=(f"The machine's settings changed during the run: {'; '.join(differences[:MOST_DIFFERENCES])}{more}."),
        remedy="Start a new run: figures from before and after the change are not comparable.",
    )


def of_machine(machine: Fingerprint) -> tuple[Warning_, ...]:
    """Return the warnings that follow from a fingerprint alone."""
    governor = machine.get("clock", {}).get("governor", Absent("not asked"))
    found: list[Warning_] = []
    if isinstance(governor, str) and governor != "performance":
        found.append(governor_not_performance(governor))
    if machine.get("memory", {}).get("transparent huge pages") == "always":
        found.append(huge_pages_always())
    randomised = machine.get("kernel", {}).get("address randomisation", Absent("not asked"))
    if not isinstance(randomised, Absent) and randomised != FULL_RANDOMISATION:
        found.append(addresses_not_randomised(randomised))
    return tuple(found)


def addresses_not_randomised(setting: Fact) -> Warning_:
    return Warning_(
        code="address-randomisation",
        message=(
            f"The kernel's address-space randomisation is {setting} and not {FULL_RANDOMISATION}: launches of the same "
            "program have the same memory layout, or nearly so, and intervals do not hold what another layout would "
            "change."
        ),
        remedy=f"sysctl kernel.randomize_va_space={FULL_RANDOMISATION} (as root), for the time of the run.",
    )


def governor_not_performance(governor: str) -> Warning_:
    return Warning_(
        code="governor",
        message=f"The CPU frequency governor is `{governor}`: the clock follows the load and starts slow.",
        remedy="Set it for the time of the run: cpupower frequency-set -g performance (as root).",
    )


def huge_pages_always() -> Warning_:
    return Warning_(
        code="huge-pages",
        message=(
            "Transparent huge pages are `always` on: whether a launch gets them depends on how fragmented memory is, "
            "which makes launches of the same program differ."
        ),
        remedy="echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root), for the time of the run.",
    )


def generic_mkl(machine: Fingerprint, arm: Arm, launch: Launch, setting: str) -> Warning_ | None:
    """Return the warning that MKL computes products on a processor of another vendor, or None where it does not.

    MKL chooses its kernels by the processor's vendor as well as by its instruction set ("Notices and Disclaimers" of
    Intel's product documentation: not optimized to the same degree for other microprocessors).

    Parameters
    ----------
    machine
        Fingerprint; where it names no vendor there is no warning.
    arm
        The arm, and a launch of it that reported the kernels which it used.
    launch
        A launch of `arm`.
    setting
        The backend's setting by which another library computes the products, `key=value`; empty: there is none.
    """
    vendor = machine.get("cpu", {}).get("vendor")
    by_mkl = {
        name: count
        for name, count in (launch.computed.kernels if launch.computed else {}).items()
        if name.startswith(MKL)
    }
    if launch.computed is None or not by_mkl or not isinstance(vendor, str) or vendor == _INTEL:
        return None
    kernels = " and ".join(sorted(by_mkl))
    return Warning_(
        code="generic-mkl",
        message=(
            f"{arm.id} computes {sum(by_mkl.values())} of {sum(launch.computed.kernels.values())} matrix products and "
            f"convolutions with Intel's library ({kernels}), which may choose slower kernels on processors of other "
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


def smoke() -> Warning_:
    return Warning_(
        code="smoke",
        message="This is a smoke run: it shows that everything works and is equal, and ranks nothing.",
        remedy="Leave out --profile smoke for numbers to rely on.",
    )


def injected(arms: Iterable[str]) -> Warning_:
    return Warning_(
        code="injected",
        message=f"A slowdown was injected into {', '.join(arms)} on purpose: this run tests the method, not the arms.",
        remedy="Never quote it as a result; run again without --inject.",
    )


def too_few_launches(launches: int, needed: int, cases: Sequence[str]) -> Warning_:
    """Return the warning that cases are not ranked, because none of their arms has enough launches.

    Parameters
    ----------
    launches
        Most launches that an arm of these cases has.
    needed
        Launches from which arms are ranked.
    cases
        Ids of the cases; at least one.
    """
    of_one = cases[0] if len(cases) == 1 else ""
    several = "" if of_one else f" {len(cases)} cases are not ranked, such as {cases[0]}."
    return Warning_(
        code="too-few-launches",
        message=(
            f"{launches} {'launch is' if launches == 1 else 'launches are'} too few to rank by: launches of the same "
            f"program differ, and an interval that can be believed needs {needed}.{several}"
        ),
        remedy=f"Ask for --profile standard (at least {needed} generations), or give a larger --budget.",
        about=of_one,
    )


def budget_spent(budget_seconds: float, generations_left: int) -> Warning_:
    """Return the warning that the time budget ended a run before all its generations were measured.

    Parameters
    ----------
    budget_seconds
        The budget.
    generations_left
        Generations that were planned and not measured.
    """
    return Warning_(
        code="budget-spent",
        message=f"The budget of {budget_seconds:.0f} s was spent with {generations_left} generations to go.",
        remedy=("Give a larger --budget, or fewer models and backends; fewer than five launches are not ranked."),
    )


def precision_not_reached(reached: float, requested: float, about: str) -> Warning_:
    """Return the warning that a block ended before its intervals were as narrow as was asked for.

    Parameters
    ----------
    reached, requested
        Half width of the widest interval and the one asked for, as shares (0.01 is 1 %).
    about
        Id of the case.
    """
    return Warning_(
        code=PRECISION_NOT_REACHED,
        message=f"The widest interval is ± {reached:.1%}, wider than the ± {requested:.1%} that were asked for.",
        remedy="Give a larger --budget, or a quieter machine; differences smaller than that cannot be told here.",
        about=about,
    )


def not_decided(known: str, about: str) -> Warning_:
    """Return the warning that the budget was spent before a case had a verdict.

    Parameters
    ----------
    known
        What is known of it: the interval of the ratio, or why there is none.
    about
        Id of the case.
    """
    return Warning_(
        code=NOT_DECIDED,
        message=f"The budget was spent before there was a verdict: {known}.",
        remedy="Go on with --resume: the run gets its budget once more. Or measure on a quieter machine.",
        about=about,
    )


def not_equal(about: str, relative_error: float | Absent, tolerance: float) -> Warning_:
    """Return the warning that an output differs from the reference's.

    Parameters
    ----------
    about
        Id of the result.
    relative_error
        ‖out − ref‖₂ / ‖ref‖₂, or absent where it is not known.
    tolerance
        Most that is allowed for the precision.
    """
    error = "unknown" if isinstance(relative_error, Absent) else f"{relative_error:.1e}"
    return Warning_(
        code="not-equal",
        message=f"Its output is not the reference's: relative error {error}, {tolerance:.0e} allowed. Not ranked.",
        remedy="See its settings: a lower precision or a fast-math mode is the usual cause.",
        about=about,
    )


def not_as_claimed(about: str, reason: str) -> Warning_:
    """Return the warning that an answer was computed in another precision than the one that was asked for.

    Parameters
    ----------
    about
        Id of the result.
    reason
        A sentence on how it shows; empty: a general one is used.
    """
    return Warning_(
        code="not-as-claimed",
        message=f"{reason or 'It was computed in another precision than the one asked for.'} Not ranked.",
        remedy="See its settings; ask for the precision that it computes in, and it is compared with its like.",
        about=about,
    )


def trains_otherwise(about: str, reason: str) -> Warning_:
    """Return the warning that a training step does not do what the reference does.

    Parameters
    ----------
    about
        Id of the result.
    reason
        A sentence on how it shows; empty: a general one is used.
    """
    return Warning_(
        code="trains-otherwise",
        message=f"{reason or 'It does not train as the reference does.'} Not ranked.",
        remedy="See its optimizer and settings: another form of epsilon, decay or bias correction is the usual cause.",
        about=about,
    )


def emulated(precision: str, reason: str) -> Warning_:
    """Return the warning that the processor has no instructions for a precision.

    Parameters
    ----------
    precision
        Such as `bf16`.
    reason
        A clause that begins a sentence, without a full stop.
    """
    return Warning_(
        code="emulated",
        message=f"{reason}: what was measured in {precision} is its emulation and says nothing about other processors.",
        remedy="Measure on the processor that you will use; the flags of this one are under Machine.",
        about=precision,
    )


def launches_failed(failed: int, message: str, about: str) -> Warning_:
    """Return the warning that some launches of a result failed.

    Parameters
    ----------
    failed
        How many.
    message
        The message of one of them, a sentence.
    about
        Id of the result.
    """
    return Warning_(
        code="launches-failed",
        message=f"{failed} of its launches failed: {message}",
        remedy="See its details; its numbers rest on the launches that did not.",
        about=about,
    )


def cut_off() -> Warning_:
    return Warning_(
        code="cut-off",
        message="The run was cut off before its end; what is here was measured.",
        remedy="Take it up again with --resume.",
    )


# ---- how quiet it was ------------------------------------------------------------------------------------------------


def journal_damaged(lines: Sequence[int]) -> Warning_:
    """Return the warning that lines of the journal cannot be read; what they recorded is left out."""
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    return Warning_(
        code="journal-damaged",
        message=(
            f"{len(lines)} {'line' if len(lines) == 1 else 'lines'} of the run's journal cannot be read ({shown}): the "
            "file was damaged or changed. The generations they belong to end before them."
        ),
        remedy="Go on with the run (--resume) to measure the missing generations again.",
    )


def too_disturbed(disturbed: int, total: int, fate: str) -> Warning_:
    """Return the warning that too many rounds were disturbed from outside.

    Parameters
    ----------
    disturbed, total
        Rounds that were disturbed, and all rounds.
    fate
        What was done with the disturbed rounds (`suite.analysis.disturbances.fate`): the end of a sentence.
    """
    return Warning_(
        code="too-disturbed",
        message=(
            f"{disturbed} of {total} rounds were disturbed from outside and {fate}. The figures may still hold some of "
            "the disturbance."
        ),
        remedy=(
            "Stop other work on this machine, or run it where nobody else computes; `levelfield doctor` names sources."
        ),
    )


def stolen(share: float) -> Warning_:
    return Warning_(
        code="steal",
        message=f"The hypervisor gave {share:.1%} of the CPU time to other machines while windows were measured.",
        remedy="Run at a quieter time, or on an instance with CPUs of its own.",
    )


def supervisor_busy(share: float) -> Warning_:
    return Warning_(
        code="supervisor-busy",
        message=f"The supervisor itself used {share:.1%} of a core while windows were measured.",
        remedy="Give the workers cores of their own (fewer --threads), and close what follows the terminal.",
    )


def idle_workers_busy(share: float) -> Warning_:
    """Return the warning that workers used CPU time while it was not their turn.

    Parameters
    ----------
    share
        Their CPU time over the time of the turns: 1 is one core.
    """
    return Warning_(
        code="idle-workers-busy",
        message=(
            f"Workers whose turn it was not used {share:.1%} of a core: some framework's threads go on spinning after "
            "its turn, and take time from the next."
        ),
        remedy="Limit the spinning (OMP_WAIT_POLICY=passive, KMP_BLOCKTIME=0), or run fewer backends together.",
    )


def never_still(arm: str, windows: int, total: int) -> Warning_:
    """Return the warning that windows began beside a worker that did not stop computing within the limit of the wait.

    Parameters
    ----------
    arm
        Id of the arm whose worker it is.
    windows, total
        Windows that began so, and all windows that waited for it.
    """
    return Warning_(
        code="never-still",
        message=(
            f"{windows} of {total} windows began while {arm} was still computing, though it had nothing to do: the "
            "longest wait for its threads was over. It takes time from all others."
        ),
        remedy="Limit its spinning (OMP_WAIT_POLICY=passive, KMP_BLOCKTIME=0), or measure without it.",
        about=arm,
    )


def no_steady_state(unsteady: int, launches: int, about: str) -> Warning_:
    """Return the warning that launches never settled to a steady speed.

    Parameters
    ----------
    unsteady, launches
        Launches that did not settle, and all launches of the result.
    about
        Id of the result.
    """
    return Warning_(
        code="no-steady-state",
        message=f"{unsteady} of {launches} launches never settled to a steady speed.",
        remedy="Give it longer windows (--profile full), and look at its launches one by one.",
        about=about,
    )


def slow_start(excess: float, about: str) -> Warning_:
    """Return the warning that launches began slowly, in too few windows to show where they settle.

    Parameters
    ----------
    excess
        By how much longer the first windows took than the last, as a share (0.1 is 10 %).
    about
        Id of the result.
    """
    return Warning_(
        code="slow-start",
        message=(
            f"Its launches began slowly: their first windows took {excess:.0%} longer than their last ones. The slow "
            "ones are left out, and nothing shows that those left are settled: its times may still be too long."
        ),
        remedy="Take more windows of each launch (--profile full), which shows where it settles.",
        about=about,
    )


def coarse_clock(step_ns: float, median_ns: float, about: str) -> Warning_:
    """Return the warning that the clock's step is more than `CLOCK_LIMIT` of the median call.

    Parameters
    ----------
    step_ns, median_ns
        The clock's step and the median call, nanoseconds.
    about
        Id of the result.
    """
    return Warning_(
        code="coarse-clock",
        message=(
            f"The clock steps by {step_ns:.0f} ns, {step_ns / median_ns:.1%} of the median call: single calls cannot "
            "be told apart finely here."
        ),
        remedy=(
            "Take a larger batch. Where the clock source is not `tsc`, the kernel may have rejected it: see `dmesg`."
        ),
        about=about,
    )


def machine_moved(drift: float) -> Warning_:
    way = "slower" if drift > 0 else "faster"
    return Warning_(
        code="machine-moved",
        message=(
            f"The same fixed work was {abs(drift):.0%} {way} in the last third of the run than in the first: the "
            "machine changed. Ratios within a block hold; times of different blocks do not compare."
        ),
        remedy="Let the machine reach its steady temperature and load before the run, and pin its frequency.",
    )


def throttled(times: int) -> Warning_:
    return Warning_(
        code="throttled",
        message=f"The processor lowered its clock {times} times because it was too hot or drew too much power.",
        remedy="Cool it, or set a lower fixed frequency that it can hold.",
    )


def gpu_throttled(windows: int, total: int, reasons: Sequence[str], about: str) -> Warning_:
    """Return the warning that the GPU's clock was reduced while it was measured.

    Parameters
    ----------
    windows, total
        Windows in which it was, and all windows.
    reasons
        Why, as NVML names it; at least one.
    about
        Id of the case.
    """
    return Warning_(
        code="gpu-throttled",
        message=f"The GPU's clock was held down in {windows} of {total} windows: {', '.join(reasons)}.",
        remedy="Cool it, or fix a clock that it can hold: nvidia-smi -lgc (as root); it holds for all arms alike.",
        about=about,
    )


def gpu_memory_errors(count: int, about: str) -> Warning_:
    """Return the warning that the GPU had memory errors which it could not correct.

    Parameters
    ----------
    count
        Errors during all windows of the case.
    about
        Id of the case.
    """
    return Warning_(
        code="gpu-memory-errors",
        message=f"The GPU counted {count} memory errors that it could not correct while this was measured.",
        remedy="Do not trust these numbers; see nvidia-smi -q -d ECC, and have the GPU looked at.",
        about=about,
    )


def gpu_xid(codes: Sequence[int], about: str) -> Warning_:
    """Return the warning that the driver reported errors of the GPU.

    Parameters
    ----------
    codes
        XID codes in the order of the reports, with repetitions.
    about
        Id of the case.

    References
    ----------
    NVIDIA, XID Errors (GPU deployment and management documentation): the meanings of the common codes, shortened.
    """
    listed = ", ".join(f"{code} ({_XID[code]})" if code in _XID else str(code) for code in dict.fromkeys(codes))
    return Warning_(
        code="gpu-xid",
        message=f"NVIDIA's driver reported errors of the GPU while this was measured ({len(codes)}): XID {listed}.",
        remedy=(
            "Do not trust these numbers; `dmesg | grep Xid` names the process. 13, 31 and 43 may be a program's fault, "
            "the others are the machine's: have the GPU looked at."
        ),
        about=about,
    )


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


def gpu_memory_divided(
    about: str, groups: Sequence[Sequence[str]], needed_bytes: int, free_bytes: int | Absent, out: Sequence[str]
) -> Warning_:
    """Return the warning that the GPU's memory is not enough for all arms of a case at once.

    Parameters
    ----------
    about
        Id of the case.
    groups
        Ids of the arms that were measured together, one sequence a group.
    needed_bytes
        Estimate of what all arms need together, in bytes.
    free_bytes
        Free memory of the GPU, in bytes; absent where it is not known.
    out
        Ids of arms that ran out of memory beside others; empty: the estimate alone led to the groups.
    """
    free = "an unknown part" if isinstance(free_bytes, Absent) else f"{free_bytes / 2**30:.1f} GiB"
    why = (
        f"{' and '.join(out)} ran out of the GPU's memory beside others"
        if out
        else (f"together they would need about {needed_bytes / 2**30:.1f} GiB of the GPU's memory, and {free} is free")
    )
    each = all(len(group) == 1 for group in groups)
    how = "one at a time" if each else f"in {len(groups)} groups ({'; '.join(map(', '.join, groups))})"
    return Warning_(
        code="gpu-memory-divided",
        message=f"Its arms were measured {how}, since {why}: only those that were together took turns.",
        remedy="Free the GPU (nvidia-smi lists who holds its memory), or ask for fewer backends or a smaller batch.",
        about=about,
    )


def gpu_memory_short(about: str, needed_bytes: int, room_bytes: int) -> Warning_:
    """Return the warning that by estimate an arm does not fit on the GPU even alone; it is tried all the same.

    Parameters
    ----------
    about
        Id of the result.
    needed_bytes, room_bytes
        Estimate of what the arm needs, and what the GPU has for it, in bytes.
    """
    return Warning_(
        code="gpu-memory-short",
        message=(
            f"It may need about {needed_bytes / 2**30:.1f} GiB of the GPU's memory, and {room_bytes / 2**30:.1f} GiB "
            "can be had: it was tried alone."
        ),
        remedy="Free the GPU (nvidia-smi lists who holds its memory), or take a smaller batch.",
        about=about,
    )


def gpu_one_process(about: str) -> Warning_:
    return Warning_(
        code="gpu-one-process",
        message=(
            "The GPU lets one process in at a time (its compute mode), so that arms were measured one after the other "
            "and took no turns: where the machine drifted meanwhile, ratios hold the drift."
        ),
        remedy="Let several in for the time of the run: nvidia-smi -c DEFAULT (as root).",
        about=about,
    )


# ---- driver and CUDA -------------------------------------------------------------------------------------------------


def driver_on_one_side(before: str | None, after: str | None) -> Warning_:
    """Return the warning that only one side of a comparison had an NVIDIA driver.

    Parameters
    ----------
    before, after
        Version of the driver on each side; None where none answered. Exactly one is None.
    """
    what = f"The driver {before} is gone" if after is None else f"There is a driver now, {after}"
    return Warning_(
        code="driver-on-one-side",
        message=f"{what}: one side of the comparison has no NVIDIA driver that answers.",
        remedy="Compare cases of the CPU only, or see `levelfield doctor` on the machine that has none.",
    )


def driver_older(before: str, after: str) -> Warning_:
    """Return the warning that the second side of a comparison has an older NVIDIA driver than the first.

    Parameters
    ----------
    before, after
        Versions of the driver.
    """
    return Warning_(
        code="driver-older",
        message=f"The NVIDIA driver went back from {before} to {after}.",
        remedy="If that was not meant, install the newer one again, restart, and measure anew.",
    )


def cuda_misfit(about: str, message: str, remedy: str) -> Warning_:
    """Return the warning that an image's CUDA release is not made for the driver or the GPU it ran on.

    Parameters
    ----------
    about
        The arm, or the image and its variant.
    message
        A sentence on what does not fit.
    remedy
        What to do; empty: a general remedy is given.
    """
    return Warning_(
        code="cuda-misfit",
        message=message,
        remedy=remedy or "Take a driver that the release was made for, or a variant that fits (`levelfield doctor`).",
        about=about,
    )


def gpu_not_used(message: str, remedy: str) -> Warning_:
    """Return the warning that there is a GPU, and nothing can run on it.

    Parameters
    ----------
    message
        A sentence on why.
    remedy
        What to do; empty: `levelfield doctor` is named.
    """
    return Warning_(
        code="gpu-not-used",
        message=f"This machine's GPU is not used, and everything runs on its CPU: {message}",
        remedy=remedy or "See `levelfield doctor`.",
    )


def left_out(arms: Sequence[str], reason: str, remedy: str = "Ask for them on the CPU: --variant cpu.") -> Warning_:
    """Return the warning that backends which were not named are left out, because they cannot answer the cases.

    Parameters
    ----------
    arms
        Ids of their arms.
    reason
        A clause that follows "since".
    remedy
        What to do about it.
    """
    return Warning_(code="left-out", message=f"Left out, since {reason}: {', '.join(arms)}.", remedy=remedy)


def not_installed(arms: Sequence[str]) -> Warning_:
    """Return the warning that backends which were not named are left out: the interpreter lacks their framework."""
    return Warning_(
        code="not-installed",
        message=f"Left out, since this interpreter lacks what they need: {', '.join(arms)}.",
        remedy="Install it here, or leave out --launcher host: images and virtual environments bring their own.",
    )


def not_the_locked_library(about: str, message: str) -> Warning_:
    """Return the warning that another library than the locked one was loaded.

    `LD_LIBRARY_PATH` or the configuration of the system's loader names it first.

    Parameters
    ----------
    about
        Id of the arm.
    message
        What was loaded instead of what: a sentence without its full stop.
    """
    return Warning_(
        code="library-shadowed",
        message=f"{message}.",
        remedy="Take it off LD_LIBRARY_PATH and out of the loader's configuration, or use the docker launcher.",
        about=about,
    )


def known_bad(about: str, message: str, remedy: str) -> Warning_:
    """Return the warning that a version is known to compute wrongly.

    Parameters
    ----------
    about
        The image and its variant.
    message, remedy
        The rule's own sentences.
    """
    return Warning_(code="known-bad", message=message, remedy=remedy, about=about)
