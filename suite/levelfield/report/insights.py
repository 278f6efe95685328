"""Insights by kind: sentences for the terminal, and on the page tables where arms and batches are many."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from levelfield.analysis.types import (
    ArmSaturation,
    CaseUse,
    Estimate,
    Headroom,
    Insights,
    Payback,
    PaybackVerdict,
    Saturation,
    Use,
)
from levelfield.record.schema import Case
from levelfield.report import insight_words as words
from levelfield.report import names, tables, units
from levelfield.report.sentences import join, title
from levelfield.report.tables import ARM, NONE, Cell, Column, Table
from levelfield.report.units import Scale

_PAYBACKS: tuple[PaybackVerdict, ...] = ("at once", "after", "maybe", "never")
"""In the order of the table."""
FEW = 3
"""Sentences that the page does not fold away."""
LEAD = (
    f"A batch is enough for an arm that reaches 95{units.NBSP}% of its highest throughput there; that rate is set in "
    "bold. Small below it stands what the intervals of the rates allow besides."
)
RISING = f"still{units.NBSP}rising"
"""At the largest batch that was measured."""


@dataclass(frozen=True)
class Part:
    """What the page shows of a kind, folded away where it has a summary."""

    tables: tuple[Table, ...] = ()
    listed: tuple[str, ...] = ()
    summary: str = ""
    case: Case | None = None


@dataclass(frozen=True)
class Section:
    """Insights of one kind."""

    title: str
    lead: str
    sentences: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    """What the page shows in place of the sentences; empty: the sentences."""

    @property
    def shown(self) -> tuple[Part, ...]:
        """What the page shows."""
        folded = units.plural(len(self.sentences), "sentence") if len(self.sentences) > FEW else ""
        return self.parts or (Part(listed=self.sentences, summary=folded),)


def sections(insights: Insights) -> tuple[Section, ...]:
    """Return all insights, kind by kind; kinds without any are left out."""
    notes = (*words.above(insights.resources), *words.unsaid(insights.ceilings))
    uses, headrooms = insights.resources, insights.headroom
    found = (
        Section(
            "What bounds each case",
            " ".join(map(words.yardstick, insights.ceilings)),
            # Single operators have a table of their own.
            (*(words.resource(use) for use in uses if not use.case.definition.operators), *notes),
            (Part((_uses(uses),) if uses else (), notes),) if uses or notes else (),
        ),
        Section(
            "When compiling pays back",
            "Cold start and typical call, against the same framework without its compiler, or else the fastest "
            "arm that does not compile.",
            (
                *(words.payback(each) for each in insights.payback if each.verdict != "never"),
                *words.never(insights.payback),
            ),
            _paybacks(insights.payback),
        ),
        Section(
            "Where a larger batch gains nothing",
            "" if all(map(all_rise, insights.saturation)) else LEAD,  # nothing is bold then
            tuple(map(sentence, insights.saturation)),
            tuple(map(_sweep, insights.saturation)),
        ),
        Section(
            "Memory headroom",
            "Peak resident memory of a launch of its own.",
            tuple(map(words.headroom, headrooms)),
            (Part((_headrooms(headrooms),), summary=units.plural(len(headrooms), "case")),) if headrooms else (),
        ),
        Section(
            "Waiting for data",
            "Of each step, the time until its batch was there; the median over launches, and their range.",
            tuple(map(words.waiting, insights.waiting)),
        ),
        Section(
            "What a wrapper costs",
            "Time of a call over that of the framework's own definition, measured in turns; 95 % intervals.",
            tuple(words.wrappers(insights.wrappers)),
        ),
        Section(
            "What the operators explain",
            "Times of a network's operators, each measured alone, summed as often as one call has them, over the time "
            "of a call; 95 % intervals. The rest is element-wise work, normalisations and the framework's own; above 1 "
            "they take longer alone.",
            tuple(map(words.explained, insights.explained)),
        ),
    )
    return tuple(section for section in found if section.sentences)


def _uses(uses: Sequence[CaseUse]) -> Table:
    """Return what bounds each case, arm by arm."""
    arms = dict.fromkeys(each.arm for use in uses for each in use.uses)

    def column(arm: str) -> Column[CaseUse]:
        def cell(use: CaseUse) -> Cell:
            own = next((each for each in use.uses if each.arm == arm), None)
            if own is None:
                return NONE
            return Cell(own.bound, under=f"{units.share_with_interval(own.compute_share)}\n{others(own)}")

        return Column(lambda _: arm, cell, numeric=False)

    case: Column[CaseUse] = Column("Case", lambda use: Cell(title(use.case), under=asked(use)), numeric=False)
    return tables.make(
        "What bounds each arm: compute, memory, overhead, or neither ceiling. Below it its share of the measured rate "
        "of arithmetic (95 %); its share of the bandwidth · cores busy",
        (case, *map(column, arms)),
        uses,
        label="what bounds each case",
        look="uses",
        marks=lambda use: {"case": use.case},
    )


def _headrooms(found: Sequence[Headroom]) -> Table:
    chosen: tuple[Column[Headroom], ...] = (
        Column("Case", lambda each: f"{names.model(each.case.model)}{names.batch(each.case)}", numeric=False),
        Column("Least", lambda each: Cell(units.size(each.least_bytes), each.least_arm), numeric=False),
        Column("Most", lambda each: Cell(units.size(each.most_bytes), each.most_arm), numeric=False),
        Column("Weights alone", lambda each: units.size(each.weight_bytes)),
        Column("A worker has left", kept_free),
        Column("Processes at most", held_at_most),
    )
    heading = (
        "Peak of the arms that take the least and the most; what is left, and how many such processes fit, by the most"
    )
    return tables.make(heading, chosen, found, label="memory headroom", marks=lambda each: {"case": each.case})


def _paybacks(found: Sequence[Payback]) -> tuple[Part, ...]:
    several = len({each.batch for each in found}) > 1
    ordered = sorted(found, key=lambda each: _PAYBACKS.index(each.verdict))

    def made(heading: str, rows: Sequence[Payback], *, never: bool) -> Table:
        when: Column[Payback] = Column("Pays back", pays_back, numeric=False)
        chosen: tuple[Column[Payback], ...] = (
            Column(
                "Case",
                lambda each: f"{names.model(each.model)}{f', batch {each.batch}' if several else ''}",
                numeric=False,
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


def _sweep(found: Saturation) -> Part:
    """Return throughput by batch; folded away where nothing is to be seen in it."""
    unit, name = scale(found), where(found)

    def column(batch: int) -> Column[ArmSaturation]:
        def cell(arm: ArmSaturation) -> Cell:
            made = tables.cell(rate(arm, batch), "rate", unit)
            return Cell(made.text, made.interval, tone="enough" if batch == arm.saturates_at else made.tone)

        return Column(f"Batch {units.count(batch)}", cell, interval="95 %")

    chosen: tuple[Column[ArmSaturation], ...] = (
        ARM,
        Column("Enough from batch", lambda arm: Cell(enough(arm), under=besides(arm)), numeric=False),
        Column("Gain", gain),
        *map(column, found.batches),
    )
    heading = f"{name}: {f'{unit.unit} ' if unit.unit else ''}items/s by batch"
    table = tables.make(heading, chosen, found.arms, label=f"batches of {name}", case=found.case)
    summary = f"{name}: every arm still gains at batch {units.count(max(found.batches))}" if all_rise(found) else ""
    return Part((table,), summary=summary, case=found.case if summary else None)


def pays_back(found: Payback) -> Cell:
    """Return when compiling is ahead: `after 1 200 calls`, and how long so many calls take."""
    match found.verdict:
        case "at once":
            return Cell("from the first call", tone="said")
        case "after" if found.calls is not None:
            calls = units.rate_with_interval(Estimate(max(found.calls.value, 1.0), found.calls.low, found.calls.high))
            spent = units.time(found.calls.value * found.call_ns)
            return Cell(f"after {calls} calls", under=f"{spent} of calling", tone="said")
        case "never":
            return Cell("never", tone="said")
        case _:
            return Cell("not decided", under=words.perhaps(found.calls).removeprefix(": "), tone="said")


def asked(use: CaseUse) -> str:
    """Return a case's work in a few words: `8.18 GFLOP, moves 180 MiB: 16.8 ms at the ceilings`."""
    moved = "in the cache"
    if not use.fits_cache or use.ceilings.cache_bytes is None:
        moved = f"moves {units.size(use.work.weight_bytes + use.work.activation_bytes)}"
    return f"{units.amount(2 * use.work.macs, 'FLOP')}, {moved}: {units.time(use.floor_ns)} at the ceilings"


def others(arm: Use) -> str:
    """Return what share of the bandwidth an arm reaches, and how many cores it keeps busy: `22 % · 1.98`."""
    memory = units.percent(arm.memory_share.value) if arm.memory_share is not None else units.NO_VALUE
    cores = f"{arm.cpu_cores:.2f}" if arm.cpu_cores is not None else units.NO_VALUE
    return f"{memory} · {cores}"


def kept_free(found: Headroom) -> str:
    """Return how much is left of what a worker may take at its peak: `92 % of 12.0 GiB`."""
    if found.limit_bytes is None:
        return units.NO_VALUE
    return f"{units.percent(1 - found.most_bytes / found.limit_bytes)} of {units.size(found.limit_bytes)}"


def held_at_most(found: Headroom) -> str:
    """Return how many processes with the highest peak the machine's memory holds: `25 in 23.5 GiB`."""
    if found.machine_bytes is None:
        return units.NO_VALUE
    return f"{int(found.machine_bytes // found.most_bytes)} in {units.size(found.machine_bytes)}"


def sentence(found: Saturation) -> str:
    """Say from which batch on arms gain nothing, and which still gain at the largest."""
    groups: dict[int | None, list[str]] = {}
    for arm in found.arms:
        groups.setdefault(arm.saturates_at, []).append(arm.arm if arm.saturates_at else f"{arm.arm} {gain(arm)}")
    clauses = [
        f"batch {batch} is enough for {join(groups[batch])}"
        for batch in sorted(batch for batch in groups if batch is not None)
    ]
    if None in groups:
        clauses.append(f"{RISING} at {units.count(max(found.batches))}: {join(groups[None])}")
    return f"{where(found)}: {'; '.join(clauses)}."


def all_rise(found: Saturation) -> bool:
    """Return whether every arm still gains at the largest batch, whatever the intervals allow."""
    return all(arm.saturates_at is None and not besides(arm) for arm in found.arms)


def where(found: Saturation) -> str:
    """`ResNet-50, fp32, 2 threads`, and the device where it is not the CPU."""
    case = found.case
    text = f"{names.model(case.model)}, {case.precision}, {units.plural(case.threads, 'thread')}"
    return text if case.device == "cpu" else f"{text}, {case.device}"


def scale(found: Saturation) -> Scale:
    """Return the one scale in which all rates of a table are written: that of the middle of the least and the most."""
    rates = [rate.items_per_s.value for arm in found.arms for rate in arm.rates]
    return units.scale_count(math.sqrt(min(rates)) * math.sqrt(max(rates)))


def rate(arm: ArmSaturation, batch: int) -> Estimate | None:
    """Return an arm's items per second in a batch, with its interval.

    Returns none where the arm was not measured in that batch.
    """
    return next((each.items_per_s for each in arm.rates if each.batch == batch), None)


def gain(arm: ArmSaturation) -> str:
    """`1.34×`: the highest rate over that of the smallest batch."""
    return f"{units.digits(arm.gain)}×"


def enough(arm: ArmSaturation) -> str:
    """Return the smallest batch that is enough, or that throughput still rises."""
    return _named(arm, arm.saturates_at or arm.rates[-1].batch)


def besides(arm: ArmSaturation) -> str:
    """Say what else the intervals allow: `or 1`, `or still rising`, `4 to still rising`, or nothing."""
    if len(arm.allowed) > 2:
        return f"{_named(arm, arm.allowed[0])} to {_named(arm, arm.allowed[-1])}"
    return "".join(f"or {_named(arm, batch)}" for batch in arm.allowed if _named(arm, batch) != enough(arm))


def _named(arm: ArmSaturation, batch: int) -> str:
    return RISING if batch == arm.rates[-1].batch else units.count(batch)
