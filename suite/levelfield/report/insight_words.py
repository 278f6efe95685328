"""Insights in sentences, the same in the terminal and on the page, each with the numbers that it rests on."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from levelfield.analysis.types import (
    Bound,
    CaseUse,
    Ceiling,
    Ceilings,
    Estimate,
    Explained,
    Headroom,
    Payback,
    Use,
    Waiting,
    WrapperCost,
)
from levelfield.record.disturbance import sentence
from levelfield.report import names, units
from levelfield.report.sentences import capitalised, join, title

RANGE_SAID = 0.05
"""Samples of a ceiling that spread by more than this share of it are reported."""
FEWER_SAID = 0.01
"""A smaller share of the arithmetic than this explains nothing."""
WAIT_SAID = 0.05
"""Share of waiting below which data are said to come fast enough."""
NEAR_ALL = 0.5
"""Share of waiting from which the pipeline sets the pace."""
_YARDSTICK = "OpenBLAS"
"""What NumPy multiplies with."""
_MULTIPLIERS = frozenset({"BLIS", "Eigen", "MKL", "MLAS", "XLA", "oneDNN"})
"""Kinds of libraries, other than the yardstick's, that multiply matrices."""
BOUNDS: dict[Bound, str] = {
    "compute": "compute-bound",
    "memory": "memory-bound",
    "overhead": "overhead-bound",
    "neither": "bound by neither ceiling",
}


def yardstick(ceilings: Ceilings) -> str:
    """Say what NumPy reached, and that it is a lower bound."""
    roofline = ceilings.roofline
    return (
        f"Before the first block NumPy, on {units.plural(roofline.threads, 'thread')}, multiplied matrices of "
        f"{roofline.gemm_size} × {roofline.gemm_size} at {_ceiling(ceilings.flops, 'FLOP/s')} in float32, and moved "
        f"arrays of {units.size(roofline.array_bytes)} at {_ceiling(ceilings.bytes, 'B/s')}: lower bounds of what this "
        "machine can do, and the reference here."
    )


def _ceiling(ceiling: Ceiling, unit: str) -> str:
    text = units.amount(ceiling.per_s, unit)
    span = f"{units.amount(ceiling.lowest, unit)} to {units.amount(ceiling.highest, unit)}"
    return f"{text} (median of {ceiling.samples}, {span})"


def resource(use: CaseUse) -> str:
    """Return the work of a case, and what bounds which arms."""
    groups = []
    for kind in BOUNDS:
        arms = [arm for arm in use.uses if arm.bound == kind]
        if arms:
            groups.append(_overhead(arms, use) if kind == "overhead" else _near_or_not(kind, arms))
    bounds = "; ".join(groups)
    return f"{title(use.case)}: {_asks(use)}. {capitalised(bounds)}."


def _asks(use: CaseUse) -> str:
    arithmetic = f"a call computes {units.amount(2 * use.work.macs, 'FLOP')}"
    if use.fits_cache and use.ceilings.cache_bytes is not None:
        return (
            f"{arithmetic}, and its {units.size(use.footprint_bytes)} of weights and activations fit into the last "
            f"cache of {units.size(use.ceilings.cache_bytes)}"
        )
    moved = use.work.weight_bytes + use.work.activation_bytes
    return f"{arithmetic} and moves about {units.size(moved)} ({units.size(use.work.weight_bytes)} of weights)"


def _near_or_not(kind: Bound, arms: Sequence[Use]) -> str:
    """`compute-bound, by share of the measured rate: openvino 104 % (102–106 %)`."""
    if kind == "memory":
        return f"{BOUNDS[kind]}, by share of the measured bandwidth: " + join(
            [f"{arm.arm} {units.share_with_interval(arm.memory_share)}" for arm in arms]
        )
    clauses = []
    for arm in arms:
        text = f"{arm.arm} {units.share_with_interval(arm.compute_share)}"
        if kind == "neither":
            details = [f"{units.percent(arm.memory_share.value)} of the bandwidth"] if arm.memory_share else []
            details += [f"{arm.cpu_cores:.1f} cores busy"] if arm.cpu_cores is not None else []
            text += f", {', '.join(details)}" if details else ""
        clauses.append(text)
    return f"{BOUNDS[kind]}, by share of the measured rate: {'; '.join(clauses)}"


def _overhead(arms: Sequence[Use], use: CaseUse) -> str:
    """`overhead-bound: the ceilings explain 234 ns of 9.20 µs (onnxruntime) to 95.0 µs (tensorflow)`."""
    ordered = sorted(arms, key=lambda arm: arm.call_ns.value)
    calls = " to ".join(
        f"{units.time(arm.call_ns.value)} ({arm.arm})" for arm in dict.fromkeys((ordered[0], ordered[-1]))
    )
    return f"{BOUNDS['overhead']}: the ceilings explain {units.time(use.floor_ns)} of the {calls} that a call takes"


def unsaid(ceilings: Sequence[Ceilings]) -> Iterator[str]:
    """Return which ceilings are not used, and why."""
    for each in (ceiling.roofline for ceiling in ceilings):
        if each.disturbed:
            yield (
                f"Bottlenecks on {units.plural(each.threads, 'thread')} unavailable: the reference measurement was "
                f"disturbed ({sentence(each.disturbed)})."
            )


def above(uses: Sequence[CaseUse]) -> Iterator[str]:
    """Say which shares are above 100 %, and what in the record explains it; nothing where none is."""
    computing = [(use, arm) for use in uses for arm in use.uses if arm.compute_share.value > 1]
    if computing:
        yield _above_compute(computing)
    moving = [(use, arm) for use in uses for arm in use.uses if arm.memory_share and arm.memory_share.value > 1]
    if moving:
        who = _who(moving, lambda arm: arm.memory_share)
        yield (
            f"More than 100 % of the bandwidth ({who}) means that a part of what is counted never left the caches, or "
            "that memory is faster than NumPy's copies: traffic is counted as if nothing stayed in a cache."
        )


_Found: TypeAlias = Sequence[tuple[CaseUse, Use]]


def _above_compute(found: _Found) -> str:
    reasons: list[str] = []
    libraries = sorted({kind for _, arm in found for kind in arm.libraries} & _MULTIPLIERS)
    if libraries:
        reasons.append(f"these arms multiply with {join(libraries)}, and NumPy with {_YARDSTICK}")
    fewer = [use.fewer_products for use, _ in found if use.fewer_products > FEWER_SAID]
    if fewer:
        reasons.append(
            f"up to {units.percent(max(fewer))} of the arithmetic is in 3×3 convolutions, which can be done with fewer "
            "multiplications than are counted (Winograd)"
        )
    ceilings = {use.ceilings.roofline.threads: use.ceilings for use, _ in found}.values()
    reasons += [
        f"the reference measurement's own samples reach up to {units.amount(each.flops.highest, 'FLOP/s')}"
        for each in ceilings
        if each.flops.highest / each.flops.lowest - 1 > RANGE_SAID
    ]
    because = f" In this record: {'; '.join(reasons)}." if reasons else ""
    return (
        f"More than 100 % of the measured rate ({_who(found, lambda arm: arm.compute_share)}) is no mistake: the "
        f"reference measurement is a lower bound of the peak.{because}"
    )


def _who(found: _Found, requested: Callable[[Use], Estimate | None]) -> str:
    """`openvino up to 123 %, jax up to 112 %`: every arm once, with its highest share."""
    highest: dict[str, float] = {}
    for _, arm in found:
        span = requested(arm)
        highest[arm.arm] = max(highest.get(arm.arm, 0.0), span.value if span is not None else 0.0)
    return ", ".join(f"{arm} up to {units.percent(value)}" for arm, value in highest.items())


def payback(found: Payback) -> str:
    """Say what compiling costs, and when it is ahead."""
    start = (
        f"{names.model(found.model)}, batch {found.batch}, {found.arm} ({found.mode}) against {_against(found)}: cold "
        f"start {units.time_with_interval(found.cold_ns)} against "
        f"{units.time_with_interval(found.against_cold_ns)}, call {units.time(found.call_ns)} "
        f"against {units.time(found.against_call_ns)} (ratio {_ratio(found.ratio)})"
    )
    match found.verdict:
        case "at once":
            return f"{start}. It is ahead from the first call."
        case "after" if found.calls is not None:
            seconds = units.time(found.calls.value * found.call_ns)
            calls = units.rate_with_interval(Estimate(max(found.calls.value, 1.0), found.calls.low, found.calls.high))
            return f"{start}. It pays back after {calls} calls, {seconds} of calling."
        case _:
            return f"{start}. Whether it ever pays back is not decided{perhaps(found.calls)}."


def never(found: Sequence[Payback]) -> Iterator[str]:
    """Name, case by case, the arms whose calls are not faster, so that compiling never pays back."""
    groups: dict[tuple[str, str, int, str], list[Payback]] = {}
    for each in found:
        if each.verdict == "never":
            groups.setdefault((each.model, each.precision, each.batch, each.against), []).append(each)
    for group in groups.values():
        first = group[0]
        arms = join(
            [
                f"{each.arm} (a call takes {_ratio(each.ratio)} times as long, and {units.time(each.compile_ns)} went "
                "into loading, compiling and the first call)"
                for each in group
            ]
        )
        yield (
            f"{names.model(first.model)}, batch {first.batch}, against {_against(first)} at "
            f"{units.time(first.against_call_ns)} a call: compiling never pays back for {arms}."
        )


def _against(found: Payback) -> str:
    same = "the same framework without its compiler" if found.same_framework else "the fastest that does not compile"
    return f"{found.against} ({same})"


def perhaps(calls: Estimate | None) -> str:
    if calls is None:
        return ""
    least = f", not before {units.rate(calls.low)}" if calls.low else ""
    return f": at these estimates after {units.rate(calls.value)} calls{least}"


def _ratio(span: Estimate) -> str:
    text = f"{span.value:.3g}"
    return text if span.low is None or span.high is None else f"{text}, {span.low:.3g}–{span.high:.3g}"


def waiting(found: Waiting) -> str:
    """Say what part of each arm's time went into waiting for data, and what would be gained without."""
    arms = []
    for arm in found.arms:
        text = f"{arm.arm} {units.share_with_interval(arm.share)}"
        text += f", by {arm.feed} with {arm.workers}" if arm.feed else ""
        if arm.share.value >= WAIT_SAID:
            gain = arm.step_items_per_s / arm.items_per_s
            text += (
                f": {units.rate(arm.items_per_s)} items/s, and up to {units.rate(arm.step_items_per_s)} "
                f"({gain:.3g} times) if data came as fast as they are used"
            )
        arms.append(text)
    slowest = max(found.arms, key=lambda arm: arm.share.value)
    if slowest.share.value < WAIT_SAID:
        advice = "Data come fast enough: a faster pipeline would gain less than "
        advice += f"{units.percent(slowest.share.value / (1 - slowest.share.value))}."
    else:
        starved = [arm.arm for arm in found.arms if arm.share.value >= NEAR_ALL]
        advice = (
            f"The pipeline, not the model, sets the pace of {join(starved)}: whole batches decoded at once, more "
            "workers or a ready-made format come before a faster framework."
            if starved
            else "More workers or cheaper decoding gain at most the factor above."
        )
    return f"{title(found.case)}, waited: {'; '.join(arms)}. {advice}"


def wrappers(found: Sequence[WrapperCost]) -> Iterator[str]:
    """Say, case by case, what each wrapper takes over the framework that it computes by; training comes last."""
    cases = dict.fromkeys(each.case for each in found)
    for case in sorted(cases, key=lambda case: case.trains):
        costs = (
            f"{each.arm} takes {_spread(each.ratio, ' times')} as long as {each.against}"
            for each in found
            if each.case == case
        )
        yield f"{title(case)}: {'; '.join(costs)}."


def explained(found: Explained) -> str:
    """Say what share of a call's time the operators take in each arm."""
    arms = (f"{each.arm} {_spread(each.share)}" for each in found.arms)
    held = f"{units.plural(found.operators, 'operator')} with {units.percent(found.macs_share)} of the arithmetic"
    return f"{title(found.case)}, {held}: {', '.join(arms)}."


def _spread(span: Estimate, unit: str = "") -> str:
    """`0.91 (0.88–0.94)`, `4.61 times (4.4–4.8)`."""
    text = f"{span.value:.3g}{unit}"
    return text if span.low is None or span.high is None else f"{text} ({span.low:.3g}–{span.high:.3g})"


def headroom(found: Headroom) -> str:
    """Say how much of what a worker may take its peak takes, and how many of them the machine holds."""
    text = f"{title(found.case)}: {found.most_arm} takes the most, {units.size(found.most_bytes)}"
    if found.least_arm != found.most_arm:
        text += f", {found.least_arm} the least, {units.size(found.least_bytes)}"
    if found.weight_bytes:
        text += f" (the weights alone are {units.size(found.weight_bytes)})"
    if found.limit_bytes is not None:
        left = 1 - found.most_bytes / found.limit_bytes
        text += f"; of the {units.size(found.limit_bytes)} that a worker may take, {units.percent(left)} is left"
    if found.machine_bytes is not None:
        held = int(found.machine_bytes // found.most_bytes)
        text += f"; {units.size(found.machine_bytes)} of memory hold {held} such processes at the most"
    return f"{text}."
