"""Insights in words, the same in the terminal and on the page: each a sentence with the numbers that it rests on."""

from collections.abc import Iterator, Sequence

import msgspec

from suite.analysis.insights.types import (
    ArmSaturation,
    Bound,
    CaseUse,
    Ceiling,
    Ceilings,
    Headroom,
    Insights,
    Payback,
    Saturation,
    Span,
    Use,
)
from suite.analysis.types import Estimate
from suite.records.schema import Case
from suite.report import names, units
from suite.report.sentences import join

RANGE_SAID = 0.05
"""Samples of a ceiling that spread by more than this share of it are said to."""
FEWER_SAID = 0.01
"""A smaller share of the arithmetic than this explains nothing."""
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


class Section(msgspec.Struct, frozen=True):
    """Insights of one kind."""

    title: str
    lead: str
    sentences: tuple[str, ...]


def sections(insights: Insights) -> tuple[Section, ...]:
    """Return all insights, kind by kind; kinds without any are left out."""
    found = (
        Section(
            "What bounds each case",
            " ".join(map(yardstick, insights.ceilings)),
            tuple(sentence for use in insights.resources for sentence in resource(use)),
        ),
        Section(
            "When compiling pays back",
            "Cold start and typical call together; an arm compiles where its own settings say so.",
            tuple(map(payback, insights.payback)),
        ),
        Section(
            "Where a larger batch gains nothing",
            "A batch saturates an arm where it reaches 95 % of the highest throughput measured.",
            tuple(map(saturation, insights.saturation)),
        ),
        Section(
            "Memory headroom",
            "Peak resident memory of a launch of its own.",
            tuple(map(headroom, insights.headroom)),
        ),
    )
    return tuple(section for section in found if section.sentences)


def yardstick(ceilings: Ceilings) -> str:
    """Say what NumPy reached, and that it is a lower bound."""
    disturbed = f" Meanwhile the machine was disturbed: {ceilings.disturbed}." if ceilings.disturbed else ""
    return (
        f"Before the first block NumPy, on {units.plural(ceilings.threads, 'thread')}, multiplied matrices of "
        f"{ceilings.gemm_size} × {ceilings.gemm_size} at {_ceiling(ceilings.flops, 'FLOP/s')} in float32, and moved "
        f"arrays of {units.size(ceilings.array_bytes)} at {_ceiling(ceilings.bytes, 'B/s')}: lower bounds of what this "
        f"machine can do, and the yardstick here.{disturbed}"
    )


def _ceiling(ceiling: Ceiling, unit: str) -> str:
    text = rate(ceiling.per_s, unit)
    span = f"{rate(ceiling.lowest, unit)} to {rate(ceiling.highest, unit)}"
    return f"{text} (median of {ceiling.samples}, {span})"


def rate(per_s: float, unit: str) -> str:
    """`164 GFLOP/s`."""
    scale = units.scale_count(per_s)
    return f"{units.digits(per_s / scale.factor)}{units.NBSP}{scale.unit}{unit}"


def amount(number: float, unit: str) -> str:
    """`8.18 GFLOP`."""
    return rate(number, unit)


def resource(use: CaseUse) -> Iterator[str]:
    """Say what a case asks, which arms are bound by what, and why an arm is above a ceiling where one is."""
    groups = [
        f"{BOUNDS[kind]} {'is' if len(arms) == 1 else 'are'} {join([_evidence(arm, use) for arm in arms])}"
        for kind in BOUNDS
        if (arms := [arm for arm in use.uses if arm.bound == kind])
    ]
    yield f"{_where(use.case)}: {_asks(use)}. {_capital('; '.join(groups))}."
    above = [arm for arm in use.uses if arm.compute_share.value > 1]
    if above:
        yield f"{_where(use.case)}: {_above_compute(above, use)}"
    above = [arm for arm in use.uses if arm.memory_share is not None and arm.memory_share.value > 1]
    if above:
        yield (
            f"{_where(use.case)}: {join([arm.arm for arm in above])} would move more than the measured bandwidth if "
            f"nothing stayed in a cache; so a part of the {units.size(use.work.activation_bytes)} of activations does, "
            "or memory is faster than NumPy's copies."
        )


def _asks(use: CaseUse) -> str:
    arithmetic = f"a call computes {amount(2 * use.work.macs, 'FLOP')}"
    if use.fits_cache and use.ceilings.cache_bytes is not None:
        return (
            f"{arithmetic}, and its {units.size(use.footprint_bytes)} of weights and activations fit into the last "
            f"cache of {units.size(use.ceilings.cache_bytes)}"
        )
    moved = use.work.weight_bytes + use.work.activation_bytes
    return f"{arithmetic} and moves about {units.size(moved)} ({units.size(use.work.weight_bytes)} of weights)"


def _evidence(arm: Use, use: CaseUse) -> str:
    cores = f"{arm.cpu_cores:.1f} cores busy" if arm.cpu_cores is not None else ""
    match arm.bound:
        case "compute":
            facts = [f"{share(arm.compute_share)} of the measured rate, {rate(arm.flops_per_s.value, 'FLOP/s')}"]
        case "memory":
            facts = [f"{share(arm.memory_share)} of the measured bandwidth"]
        case "overhead":
            facts = [f"{units.time(use.floor_ns)} of its {units.time(arm.call_ns.value)} at the ceilings", cores]
        case "neither":
            facts = [f"{share(arm.compute_share)} of the measured rate"]
            facts += [f"{share(arm.memory_share)} of the bandwidth"] if arm.memory_share is not None else []
            facts += [cores]
    return f"{arm.arm} ({'; '.join(filter(None, facts))})"


def share(span: Span | None) -> str:
    """`92 % (90–94 %)`."""
    if span is None:
        return units.NO_VALUE
    if span.low is None or span.high is None:
        return units.percent(span.value)
    return f"{units.percent(span.value)} ({units.percent_range(span.low, span.high)})"


def _above_compute(above: Sequence[Use], use: CaseUse) -> str:
    """Explain a share above 100 % by what the record holds; the yardstick is a lower bound in any case."""
    who = join([f"{arm.arm} at {units.percent(arm.compute_share.value)}" for arm in above])
    reasons: list[str] = []
    libraries = sorted({kind for arm in above for kind in arm.libraries} & _MULTIPLIERS)
    if libraries:
        reasons.append(f"{join(libraries)} can multiply faster than NumPy's {_YARDSTICK}")
    if use.fewer_products > FEWER_SAID:
        reasons.append(
            f"{units.percent(use.fewer_products)} of the arithmetic is in 3×3 convolutions, which can be done with "
            "fewer multiplications than are counted (Winograd)"
        )
    flops = use.ceilings.flops
    if flops.highest / flops.lowest - 1 > RANGE_SAID:
        reasons.append(f"the yardstick's own samples reach up to {rate(flops.highest, 'FLOP/s')}")
    if use.ceilings.disturbed:
        reasons.append(f"the machine was disturbed while it was measured ({use.ceilings.disturbed})")
    because = f" Here {join(reasons)}." if reasons else ""
    return f"{who}: more than 100 % is no mistake, since the yardstick is a lower bound of the peak.{because}"


def payback(found: Payback) -> str:
    """Say what compiling costs, and when it is ahead."""
    other = (
        f"{found.against}, the same framework without it"
        if found.same_framework
        else (f"{found.against}, the fastest that does not compile")
    )
    start = (
        f"{found.arm} ({found.mode}) on {names.model(found.model)}, batch {found.batch}, against {other}: cold start "
        f"{_time(found.cold_ns)} against {_time(found.against_cold_ns)}, of which {units.time(found.compile_ns)} to "
        f"load, compile and answer once; a call {units.time(found.call_ns)} against "
        f"{units.time(found.against_call_ns)} (ratio {_ratio(found.ratio)})"
    )
    match found.verdict:
        case "never":
            return f"{start}. Its calls are not faster, so it never pays back."
        case "at once":
            return f"{start}. It is ahead from the first call."
        case "after" if found.calls is not None:
            seconds = units.time(found.calls.value * found.call_ns)
            return f"{start}. It pays back after {_calls(found.calls)} ({seconds} of calling)."
        case _:
            return f"{start}. Whether it ever pays back is not decided{_perhaps(found.calls)}."


def _calls(calls: Span) -> str:
    text = f"{_count(calls.value)} calls"
    if calls.low is None or calls.high is None:
        return text
    return f"{text} ({_count(calls.low)} to {_count(calls.high)})"


def _perhaps(calls: Span | None) -> str:
    if calls is None:
        return ""
    least = f", not before {_count(calls.low)}" if calls.low else ""
    return f": at these estimates after {_count(calls.value)} calls{least}"


def _count(number: float) -> str:
    """Return a number of calls with the digits that it deserves: three."""
    if number < 1:
        return "1"
    return units.count(int(float(f"{number:.3g}")))


def _time(span: Span) -> str:
    return units.time_with_interval(Estimate(span.value, span.low, span.high))


def _ratio(span: Span) -> str:
    text = f"{span.value:.3g}"
    return text if span.low is None or span.high is None else f"{text}, {span.low:.3g}–{span.high:.3g}"


def saturation(found: Saturation) -> str:
    """Say which arms gain nothing from a larger batch, and which still do at the largest."""
    batches = join([str(batch) for batch in found.batches])
    groups: dict[int | None, list[ArmSaturation]] = {}
    for arm in found.arms:
        groups.setdefault(arm.saturates_at, []).append(arm)
    clauses = [
        f"from batch {batch} on, a larger one gains next to nothing on {join([_rates(arm) for arm in groups[batch]])}"
        for batch in sorted(batch for batch in groups if batch is not None)
    ]
    if None in groups:
        clauses.append(
            f"at {max(found.batches)}, the largest measured, throughput still rises on "
            f"{join([_rates(arm) for arm in groups[None]])}"
        )
    where = f"{names.model(found.model)}, {found.precision}, {units.plural(found.threads, 'thread')}, {found.device}"
    return f"{where}, batches {batches}: {'; '.join(clauses)}."


def _rates(arm: ArmSaturation) -> str:
    first, best = arm.rates[0], max(arm.rates, key=lambda rate: rate.items_per_s.value)
    if best is first:
        return f"{arm.arm} (most at batch {first.batch}: {_items(first.items_per_s)})"
    return (
        f"{arm.arm} ({_items(first.items_per_s)} at batch {first.batch}, {_items(best.items_per_s)} at {best.batch}: "
        f"{arm.gain:.3g} times)"
    )


def _items(span: Span) -> str:
    return f"{units.rate_with_interval(Estimate(span.value, span.low, span.high))}{units.NBSP}items/s"


def headroom(found: Headroom) -> str:
    """Say how much of what a worker may take its peak takes, and how many of them the machine holds."""
    text = f"{_where(found.case)}: {found.most_arm} takes the most, {units.size(found.most_bytes)}"
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


def _where(case: Case) -> str:
    return f"{names.model(case.model)}, {names.scenario(case.scenario).lower()}, batch {case.batch}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
