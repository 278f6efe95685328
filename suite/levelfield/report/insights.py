"""Insights by kind: tables where arms and batches are many, else sentences, each with the numbers it rests on."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from levelfield.analysis import types
from levelfield.record.disturbance import sentence
from levelfield.record.schema import Case
from levelfield.report import names, tables, units
from levelfield.report.sentences import join, title
from levelfield.report.tables import ARM, NONE, Cell, Column, Table

_SHORT = "{:.3g}".format
_PAYBACKS: tuple[types.PaybackVerdict, ...] = ("at once", "after", "maybe", "never")
"""In the order of the table."""
LEAD = (
    f"A batch is enough for an arm that reaches 95{units.NBSP}% of its highest throughput there; that rate is set in "
    "bold. Small below it stands what the intervals of the rates allow besides."
)
RISING = f"still{units.NBSP}rising"
"""At the largest batch that was measured."""
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


@dataclass(frozen=True)
class Part:
    """What is shown of a kind, folded away on the page where it has a summary."""

    tables: tuple[Table, ...] = ()
    listed: tuple[str, ...] = ()
    """Sentences."""
    summary: str = ""
    case: Case | None = None


@dataclass(frozen=True)
class Section:
    title: str
    lead: str
    parts: tuple[Part, ...]


def sections(insights: types.Insights) -> tuple[Section, ...]:
    """Return all insights, kind by kind; kinds without any are left out."""
    uses, headrooms = insights.resources, insights.headroom
    notes = (*above(uses), *unsaid(insights.ceilings))
    # Single operators have a table of their own.
    bounded = notes or any(not use.case.definition.operators for use in uses)
    found = (
        Section(
            "What bounds each case",
            " ".join(map(yardstick, insights.ceilings)),
            (Part((_uses(uses),) if uses else (), notes),) if bounded else (),
        ),
        Section(
            "When compiling pays back",
            "Cold start and typical call, against the same framework without its compiler, or else the fastest "
            "arm that does not compile.",
            _paybacks(insights.payback),
        ),
        Section(
            "Where a larger batch gains nothing",
            "" if all(map(all_rise, insights.saturation)) else LEAD,  # nothing is bold then
            tuple(map(_sweep, insights.saturation)),
        ),
        Section(
            "Memory headroom",
            "Peak resident memory of a launch of its own.",
            (Part((_headrooms(headrooms),), summary=units.plural(len(headrooms), "case")),) if headrooms else (),
        ),
        Section(
            "Waiting for data",
            "Of each step, the time until its batch was there; the median over launches, and their range.",
            _listed(map(waiting, insights.waiting)),
        ),
        Section(
            "What a wrapper costs",
            "Time of a call over that of the framework's own definition, measured in turns; 95 % intervals.",
            _listed(wrappers(insights.wrappers)),
        ),
        Section(
            "What the operators explain",
            "Times of a network's operators, each measured alone, summed as often as one call has them, over the time "
            "of a call; 95 % intervals. The rest is element-wise work, normalisations and the framework's own; above 1 "
            "they take longer alone.",
            _listed(map(explained, insights.explained)),
        ),
    )
    return tuple(section for section in found if section.parts)


def _listed(sentences: Iterable[str]) -> tuple[Part, ...]:
    """Return sentences as a part, folded away where they are many."""
    found = tuple(sentences)
    return (
        (Part(listed=found, summary=units.plural(len(found), "sentence") if len(found) > 3 else ""),) if found else ()
    )


def _headrooms(found: Sequence[types.Headroom]) -> Table:
    def left(each: types.Headroom) -> str:
        if each.limit_bytes is None:
            return units.NO_VALUE
        return f"{units.percent(1 - each.most_bytes / each.limit_bytes)} of {units.size(each.limit_bytes)}"

    def held(each: types.Headroom) -> str:
        if each.machine_bytes is None:
            return units.NO_VALUE
        return f"{int(each.machine_bytes // each.most_bytes)} in {units.size(each.machine_bytes)}"

    chosen: tuple[Column[types.Headroom], ...] = (
        Column("Case", lambda each: f"{names.model(each.case.model)}{names.batch(each.case)}", numeric=False),
        Column("Least", lambda each: Cell(units.size(each.least_bytes), each.least_arm), numeric=False),
        Column("Most", lambda each: Cell(units.size(each.most_bytes), each.most_arm), numeric=False),
        Column("Weights alone", lambda each: units.size(each.weight_bytes)),
        Column("A worker has left", left),
        Column("Processes at most", held),
    )
    heading = (
        "Peak of the arms that take the least and the most; what is left, and how many such processes fit, by the most"
    )
    return tables.make(heading, chosen, found, label="memory headroom", marks=lambda each: {"case": each.case})


def _uses(uses: Sequence[types.CaseUse]) -> Table:
    arms = dict.fromkeys(each.arm for use in uses for each in use.uses)

    def column(arm: str) -> Column[types.CaseUse]:
        def cell(use: types.CaseUse) -> Cell:
            own = next((each for each in use.uses if each.arm == arm), None)
            if own is None:
                return NONE
            return Cell(own.bound, under=f"{units.share_with_interval(own.compute_share)}\n{others(own)}")

        return Column(lambda _: arm, cell, numeric=False)

    case: Column[types.CaseUse] = Column("Case", lambda use: Cell(title(use.case), under=asked(use)), numeric=False)
    return tables.make(
        "What bounds each arm: compute, memory, overhead, or neither ceiling. Below it its share of the measured rate "
        "of arithmetic (95 %); its share of the bandwidth · cores busy",
        (case, *map(column, arms)),
        uses,
        label="what bounds each case",
        look="uses",
        marks=lambda use: {"case": use.case},
    )


def _paybacks(found: Sequence[types.Payback]) -> tuple[Part, ...]:
    several = len({each.batch for each in found}) > 1
    ordered = sorted(found, key=lambda each: _PAYBACKS.index(each.verdict))

    def made(heading: str, rows: Sequence[types.Payback], *, never: bool) -> Table:
        when: Column[types.Payback] = Column("Pays back", pays_back, numeric=False)
        chosen: tuple[Column[types.Payback], ...] = (
            Column(
                "Case", lambda it: f"{names.model(it.model)}{f', batch {it.batch}' if several else ''}", numeric=False
            ),
            Column("Arm", lambda each: each.arm, numeric=False),
            Column("Against", lambda each: each.against, numeric=False),
            *(() if never else (when,)),
            Column("Call, ratio", lambda each: each.ratio, interval="95 %"),
            Column("Cold start", lambda each: units.time(each.cold_ns.value)),
            Column("Other’s cold start", lambda each: units.time(each.against_cold_ns.value)),
        )
        return tables.make(heading, chosen, rows, label=heading.lower(), marks=lambda _: {})

    never = [each for each in ordered if each.verdict == "never"]
    rest = [each for each in ordered if each.verdict != "never"]
    parts = []
    if rest:
        parts.append(Part((made("Each arm that compiles, against one that does not", rest, never=False),)))
    if never:
        summary = f"{units.plural(len(never), 'comparison')} in which compiling never pays back"
        parts.append(Part((made("Compiling never pays back", never, never=True),), summary=summary))
    return tuple(parts)


def _sweep(found: types.Saturation) -> Part:
    """Return throughput by batch; folded away where nothing is to be seen in it."""
    case = found.case
    name = f"{names.model(case.model)}, {case.precision}, {units.plural(case.threads, 'thread')}"
    name += "" if case.device == "cpu" else f", {case.device}"
    rates = [rate.items_per_s.value for arm in found.arms for rate in arm.rates]
    unit = units.scale_count(math.sqrt(min(rates)) * math.sqrt(max(rates)))  # of the middle of the least and the most

    def column(batch: int) -> Column[types.ArmSaturation]:
        def cell(arm: types.ArmSaturation) -> Cell:
            rate = next((each.items_per_s for each in arm.rates if each.batch == batch), None)
            made = tables.cell(rate, "rate", unit)
            return Cell(made.text, made.interval, tone="enough" if batch == arm.saturates_at else made.tone)

        return Column(f"Batch {units.count(batch)}", cell, interval="95 %")

    chosen: tuple[Column[types.ArmSaturation], ...] = (
        ARM,
        Column("Enough from batch", lambda arm: Cell(enough(arm), under=besides(arm)), numeric=False),
        Column("Gain", lambda arm: f"{units.digits(arm.gain)}×"),
        *map(column, found.batches),
    )
    heading = f"{name}: {f'{unit.unit} ' if unit.unit else ''}items/s by batch"
    table = tables.make(heading, chosen, found.arms, label=f"batches of {name}", case=found.case)
    summary = f"{name}: every arm still gains at batch {units.count(max(found.batches))}" if all_rise(found) else ""
    return Part((table,), summary=summary, case=found.case if summary else None)


def pays_back(found: types.Payback) -> Cell:
    """Return when compiling is ahead: `after 1 200 calls`, and how long so many calls take."""
    match found.verdict:
        case "at once":
            return Cell("from the first call", tone="said")
        case "after" if found.calls is not None:
            calls = units.rate_with_interval(
                types.Estimate(max(found.calls.value, 1.0), found.calls.low, found.calls.high)
            )
            spent = units.time(found.calls.value * found.call_ns)
            return Cell(f"after {calls} calls", under=f"{spent} of calling", tone="said")
        case "never":
            return Cell("never", tone="said")
        case _ if found.calls is None:
            return Cell("not decided", tone="said")
        case _:
            least = f", not before {units.rate(found.calls.low)}" if found.calls.low else ""
            under = f"at these estimates after {units.rate(found.calls.value)} calls{least}"
            return Cell("not decided", under=under, tone="said")


def asked(use: types.CaseUse) -> str:
    """Return a case's work in a few words: `8.18 GFLOP, moves 180 MiB: 16.8 ms at the ceilings`."""
    moved = "in the cache"
    if not use.fits_cache or use.ceilings.cache_bytes is None:
        moved = f"moves {units.size(use.work.weight_bytes + use.work.activation_bytes)}"
    return f"{units.amount(2 * use.work.macs, 'FLOP')}, {moved}: {units.time(use.floor_ns)} at the ceilings"


def others(arm: types.Use) -> str:
    """Return what share of the bandwidth an arm reaches, and how many cores it keeps busy: `22 % · 1.98`."""
    memory = units.percent(arm.memory_share.value) if arm.memory_share is not None else units.NO_VALUE
    cores = f"{arm.cpu_cores:.2f}" if arm.cpu_cores is not None else units.NO_VALUE
    return f"{memory} · {cores}"


def all_rise(found: types.Saturation) -> bool:
    """Return whether every arm still gains at the largest batch, whatever the intervals allow."""
    return all(arm.saturates_at is None and not besides(arm) for arm in found.arms)


def enough(arm: types.ArmSaturation) -> str:
    """Return the smallest batch that is enough, or that throughput still rises."""
    return _named(arm, arm.saturates_at or arm.rates[-1].batch)


def besides(arm: types.ArmSaturation) -> str:
    """Say what else the intervals allow: `or 1`, `or still rising`, `4 to still rising`, or nothing."""
    if len(arm.allowed) > 2:
        return f"{_named(arm, arm.allowed[0])} to {_named(arm, arm.allowed[-1])}"
    return "".join(f"or {_named(arm, batch)}" for batch in arm.allowed if _named(arm, batch) != enough(arm))


def _named(arm: types.ArmSaturation, batch: int) -> str:
    return RISING if batch == arm.rates[-1].batch else units.count(batch)


def yardstick(ceilings: types.Ceilings) -> str:
    """Say what NumPy reached, and that it is a lower bound."""
    roofline = ceilings.roofline
    return (
        f"Before the first block NumPy, on {units.plural(roofline.threads, 'thread')}, multiplied matrices of "
        f"{roofline.gemm_size} × {roofline.gemm_size} at {_ceiling(ceilings.flops, 'FLOP/s')} in float32, and moved "
        f"arrays of {units.size(roofline.array_bytes)} at {_ceiling(ceilings.bytes, 'B/s')}: lower bounds of what this "
        "machine can do, and the reference here."
    )


def _ceiling(ceiling: types.Ceiling, unit: str) -> str:
    text = units.amount(ceiling.per_s, unit)
    span = f"{units.amount(ceiling.lowest, unit)} to {units.amount(ceiling.highest, unit)}"
    return f"{text} (median of {ceiling.samples}, {span})"


def unsaid(ceilings: Sequence[types.Ceilings]) -> Iterator[str]:
    """Return which ceilings are not used, and why."""
    for each in (ceiling.roofline for ceiling in ceilings):
        if each.disturbed:
            yield (
                f"Bottlenecks on {units.plural(each.threads, 'thread')} unavailable: the reference measurement was "
                f"disturbed ({sentence(each.disturbed)})."
            )


def above(uses: Sequence[types.CaseUse]) -> Iterator[str]:
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


_Found: TypeAlias = Sequence[tuple[types.CaseUse, types.Use]]


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


def _who(found: _Found, requested: Callable[[types.Use], types.Estimate | None]) -> str:
    """`openvino up to 123 %, jax up to 112 %`: every arm once, with its highest share."""
    highest: dict[str, float] = {}
    for _, arm in found:
        span = requested(arm)
        highest[arm.arm] = max(highest.get(arm.arm, 0.0), span.value if span is not None else 0.0)
    return ", ".join(f"{arm} up to {units.percent(value)}" for arm, value in highest.items())


def waiting(found: types.Waiting) -> str:
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


def wrappers(found: Sequence[types.WrapperCost]) -> Iterator[str]:
    """Say, case by case, what each wrapper takes over the framework that it computes by; training comes last."""
    cases = dict.fromkeys(each.case for each in found)
    for case in sorted(cases, key=lambda case: case.trains):
        costs = (
            f"{each.arm} takes {units.within(each.ratio, _SHORT, unit=' times')} as long as {each.against}"
            for each in found
            if each.case == case
        )
        yield f"{title(case)}: {'; '.join(costs)}."


def explained(found: types.Explained) -> str:
    """Say what share of a call's time the operators take in each arm."""
    arms = (f"{each.arm} {units.within(each.share, _SHORT)}" for each in found.arms)
    held = f"{units.plural(found.operators, 'operator')} with {units.percent(found.macs_share)} of the arithmetic"
    return f"{title(found.case)}, {held}: {', '.join(arms)}."
