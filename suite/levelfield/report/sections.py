"""What the page of a run shows, section by section; templates compute nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from levelfield.analysis import Analysis
from levelfield.analysis.machine import fate
from levelfield.analysis.scaling import BySize, Scaling, Tradeoff
from levelfield.analysis.types import BlockAnalysis, ConvergenceBlock, LoadGenBlock, TimedBlock
from levelfield.record import warnings as notices
from levelfield.record.schema import Case, Failure, Run
from levelfield.report import (
    accuracy,
    charts,
    hardware,
    insights,
    loadgen,
    names,
    operators,
    parity,
    results,
    sentences,
    sizes,
    states,
    units,
    xy_charts,
)
from levelfield.report.sentences import IN_THESE_MINUTES
from levelfield.report.tables import Table


@dataclass(frozen=True)
class Figure:
    kind: Literal["intervals", "bars", "plane"]
    chart: Any
    label: str
    caption: str


@dataclass(frozen=True)
class Entry:
    """A case, or several that are compared."""

    heading: str
    about: str = ""
    case: Case | None = None
    """None: what a reader chooses does not hide it."""
    anchor: str = ""
    finding: str = ""
    folded: bool = False
    """Only its heading and its finding are shown until a reader opens it."""
    said: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    more: str = ""
    """Title of what is folded away."""
    more_notes: tuple[str, ...] = ()
    more_tables: tuple[Table, ...] = ()
    logs: tuple[loadgen.Log, ...] = ()
    failures: tuple[tuple[str, str, Failure], ...] = ()
    """Arm, backend and what happened."""
    kept: str = ""
    """Generations whose disturbed rounds count, as the page's script reads them; only of cases timed in windows."""


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading of its own."""

    id: str
    title: str
    short: str
    """As the contents name it."""
    lead: str = ""
    special: str = ""
    """The macro that draws it; empty: it is drawn as all are."""
    figures: tuple[Figure, ...] = ()
    entries: tuple[Entry, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: str = ""
    """Title of its entries, which are folded away; empty: they are not."""
    found: Any = None
    """What a macro of its own draws."""


def sections(run: Run, analysis: Analysis, anchors: Sequence[str]) -> tuple[Section, ...]:
    return tuple(_sections(run, analysis, anchors))


def _sections(run: Run, analysis: Analysis, anchors: Sequence[str]) -> Iterator[Section]:
    timed = list(zip(analysis.timed, anchors, strict=False))
    single = operators.table(analysis)
    if single is not None:
        own = [_timed(run, analysis, block, anchor, anchors) for block, anchor in timed if operators.is_one(block)]
        yield Section(
            "operators",
            operators.TITLE,
            operators.TITLE,
            operators.LEAD,
            figures=tuple(
                Figure("plane", chart, f"Roofline of the operators on {units.plural(threads, 'thread')}", _ROOFLINE)
                for threads, chart in single.rooflines
            ),
            tables=(single.table,),
            entries=tuple(own),
            folded="Each operator, with intervals and launches",
        )
    models = dict.fromkeys(block.case.model for block in analysis.timed if not operators.is_one(block))
    for number, model in enumerate(models, start=1):
        first, *rest = [
            _timed(run, analysis, block, anchor, anchors) for block, anchor in timed if block.case.model == model
        ]
        folded = (replace(entry, folded=True) for entry in rest)
        title = names.model(model)
        yield Section(names.anchor("model", str(number)), title, title, entries=(first, *folded))
    if analysis.convergence:
        entries = (_trained(block, analysis.convergence) for block in analysis.convergence)
        yield Section("convergence", "Time to accuracy", "Time to accuracy", entries=tuple(entries))
    if analysis.loadgen:
        entries = (_driven(run, block, analysis.loadgen) for block in analysis.loadgen)
        yield Section("loadgen", loadgen.TITLE, loadgen.TITLE, loadgen.NOT_A_RESULT, entries=tuple(entries))
    yield Section(
        "parity",
        "Do all arms compute the same?",
        "Parity",
        special="parity",
        found=parity.shown(run, analysis, operators=single is not None),
    )
    yield from asked_for(run, analysis)
    yield from _whole_launches(analysis, anchors[len(analysis.timed) :])
    for section, tables in (
        (Section("gpu", "GPU", "GPU"), map(hardware.gpu, analysis.devices)),
        (Section("energy", "CPU energy", "CPU energy"), map(hardware.energy, analysis.energies)),
        (Section("cost", hardware.COST, hardware.COST, hardware.cost_lead(run)), hardware.cost_tables(run, analysis)),
    ):
        made = tuple(tables)
        if made:
            yield replace(section, tables=made)
    said = insights.sections(analysis.insights)
    if said:
        title = "Insights: what limits each arm"
        yield Section("insights", title, "Insights", special="insights", found=said)


def asked_for(run: Run, analysis: Analysis) -> Iterator[Section]:
    """Yield the sections of what no default run measures, but for costs."""
    judged = accuracy.tables(run, analysis)
    if judged:
        yield Section("accuracy", accuracy.TITLE, accuracy.TITLE, accuracy.lead(run), tables=judged)
    if analysis.tradeoffs:
        entries = tuple(map(_tradeoff, analysis.tradeoffs))
        yield Section("precision", "Speed and accuracy", "Precision", entries=entries)
    if analysis.by_size:
        yield Section("sizes", sizes.TITLE, "Sizes", entries=tuple(map(_by_size, analysis.by_size)))
    for over in ("threads", "processes"):
        found = [each for each in analysis.scalings if each.over == over]
        if found:
            yield Section(over, f"Scaling with {over}", over.capitalize(), entries=tuple(map(_scaling, found)))


def _whole_launches(analysis: Analysis, anchors: Sequence[str]) -> Iterator[Section]:
    cold = analysis.cold
    if cold:
        yield Section(
            "cold-start",
            "Cold start",
            "Cold start",
            special="whole_launches",
            entries=tuple(_bars(block, cold, anchor) for block, anchor in zip(cold, anchors, strict=False)),
            tables=tuple(results.cold(block, cold) for block in cold),
            folded="Figures of cold starts",
            found=charts.PHASES,
        )
    peak = analysis.memory
    if peak:
        sources = {row.source for block in peak for row in block.rows if row.source}
        yield Section(
            "memory",
            "Peak memory",
            "Memory",
            special="whole_launches",
            entries=tuple(
                _bars(block, peak, anchor) for block, anchor in zip(peak, anchors[len(cold) :], strict=False)
            ),
            tables=tuple(results.peak(block, peak) for block in peak),
            folded=f"Figures of peak memory{f', read from {sources.pop()}' if len(sources) == 1 else ''}",
        )


def _bars(block: Any, among: Sequence[Any], anchor: str) -> Entry:  # noqa: ANN401 (ColdBlock or MemoryBlock)
    is_cold = block.case.definition.sample == "cold start"
    chart = charts.cold(block) if is_cold else charts.memory(block)
    name = sentences.named(block, among)
    label = f"{'Cold start' if is_cold else 'Peak memory'} of {name}"
    figures = (Figure("bars", chart, label, ""),) if chart is not None else ()
    return Entry(f"{name}, batch {block.case.batch}", label, case=block.case, anchor=anchor, figures=figures)


def _timed(run: Run, analysis: Analysis, block: TimedBlock, anchor: str, anchors: Sequence[str]) -> Entry:
    case = block.case
    where = ", ".join([sentences.title(case), *sentences.precisions_apart(block, analysis.timed)])
    chart = charts.ranked(block, rate="/s", time=" a call")
    caption = ""
    if chart is not None and anchor == anchors[0]:
        point = f"point and 95 % interval {IN_THESE_MINUTES}, " if chart.intervals else "point, "
        caption = f"Geometric mean over launches: {point}each launch as a small dot."
    item = f"{case.definition.item.capitalize()}s per second, time of a " if case.per_item else "Time of a "
    rounds = f", {units.plural(block.rounds, 'undisturbed round')}"
    measured = f": {units.plural(block.generations, 'generation')}{rounds}" if block.rounds else ""
    title = f"{item}{'step' if case.trains else 'call'}{measured}"
    return Entry(
        where,
        "" if case.imported else f"{case.precision}, {sentences.workers(case)}, {case.device}",
        case=case,
        anchor=anchor,
        finding=sentences.verdict(block, analysis.timed),
        said=tuple(filter(None, (states.of_case(block, analysis), names.note(case)))),
        figures=(Figure("intervals", chart, where, caption),) if chart is not None else (),
        table=replace(results.timed(block, analysis.timed), title=title, label=where),
        notes=(*_timed_notes(block, analysis), *_known_wrong(analysis, block)),
        more="Each launch, and what was left out",
        more_notes=tuple(_launch_notes(run, block)),
        more_tables=(results.launches(block),),
        failures=_failures(block),
        kept=" ".join(map(str, block.generations_kept)),
    )


def _timed_notes(block: TimedBlock, analysis: Analysis) -> Iterator[str]:
    case = block.case
    if case.trains and block == next(each for each in analysis.timed if each.case.trains):
        yield _STEP
    if case.one_by_one:
        yield sentences.ONE_BY_ONE
    yield from filter(None, (sentences.crossed(block), sentences.outranked(block)))
    if case.trains or not case.per_item:
        yield from filter(None, (sentences.quantiles_absent(block),))
    for control in block.controls:
        yield (
            f"Control: {control.arm} is {control.of} a second time. Their ratio here is "
            f"{units.within(control.ratio, '{:.3f}'.format)}, where the truth is 1."
        )


def _known_wrong(analysis: Analysis, block: TimedBlock) -> Iterator[str]:
    """Say of the arms of a case whose versions are known to answer wrongly."""
    arms = {row.arm for row in block.rows}
    yield from (
        f"{each.about}: {each.message}"
        for each in analysis.warnings
        if each.code == notices.KNOWN_WRONG and each.about in arms
    )


def _launch_notes(run: Run, block: TimedBlock) -> Iterator[str]:
    if block.half_width is not None and run.settings.precision_target is not None:
        yield sentences.precision(block.half_width)
    if block.rounds_disturbed:
        also = "; the last column counts them in" if block.rounds_kept < block.rounds_disturbed else ""
        yield (
            f"{units.plural(block.rounds_disturbed, 'round')} disturbed from outside: {'; '.join(block.disturbances)}. "
            f"They {fate(block.rounds_disturbed, block.rounds_kept)}{also}."
        )


def _failures(block: BlockAnalysis) -> tuple[tuple[str, str, Failure], ...]:
    return tuple((row.arm, row.backend, row.failure) for row in block.rows if row.failure is not None)


def _trained(block: ConvergenceBlock, among: Sequence[ConvergenceBlock]) -> Entry:
    case, where = block.case, sentences.named(block, among)
    target = units.NO_VALUE if block.target is None else units.accuracy(block.target)
    limit = f", {block.limit} steps at the most" if block.limit is not None else ""
    title = (
        f"{where}: training until {target} of the test images are classified correctly{limit}, "
        f"{units.plural(block.generations, 'seed')}"
    )
    figures = []
    if times := charts.ranked(block, time=" of training"):
        caption = (
            f"Training time until the target: geometric mean over seeds{_interval(times)}, each seed as a small dot."
        )
        figures.append(Figure("intervals", times, f"Time to accuracy of {where}", caption))
    if course := xy_charts.accuracy(block):
        figures.append(Figure("plane", course, f"Test accuracy of {where} over training time", _COURSE))
    about = (
        f"{block.network}, batch {case.batch}, {case.precision}, {units.plural(case.threads, 'thread')}, {case.device}"
    )
    return Entry(
        f"{where}: time to {target}",
        about,
        finding=sentences.convergence(block, among),
        figures=tuple(figures),
        table=replace(results.trained(block, among), title=title, label=f"time to accuracy of {where}"),
        more="Seed by seed",
        more_tables=(results.seeds(block, where),),
        failures=_failures(block),
    )


def _interval(chart: charts.Chart) -> str:
    return f", its 95 % interval {IN_THESE_MINUTES}" if chart.intervals else ""


def _driven(run: Run, block: LoadGenBlock, among: Sequence[LoadGenBlock]) -> Entry:
    case, what = block.case, sentences.capitalised(loadgen.what(block))
    where = f"{sentences.named(block, among)}, {block.scenario}"
    figures = []
    if values := charts.ranked(block, rate=f" {case.rate_unit}"):
        caption = f"{what}: geometric mean over launches{_interval(values)}, each launch as a small dot."
        figures.append(Figure("intervals", values, f"{what} of {where}", caption))
    title = f"{where}: {loadgen.what(block)}, {units.plural(block.generations, 'launch', 'launches')}"
    rates = (results.offered_loads(block, where),) if block.scenario == "Server" else ()
    return Entry(
        where,
        f"batch {case.batch}, {case.precision}, {units.plural(case.threads, 'thread')}, {case.device}",
        case=case,
        finding=sentences.loadgen(block, among),
        figures=tuple(figures),
        table=replace(results.driven(block, among), title=title, label=f"LoadGen, {where}"),
        more="Settings, tests and LoadGen’s own summaries",
        more_tables=(results.loadgen_settings(block, where), *rates),
        logs=tuple(log for log in loadgen.logs(run, block) if log.summary),
        failures=_failures(block),
    )


def _tradeoff(found: Tradeoff) -> Entry:
    case, where = found.case, results.question(found.case)
    chart = xy_charts.tradeoff(found)
    figure = Figure("plane", chart, f"Speed and accuracy of {where}", _TRADEOFF)
    return Entry(
        f"{where}: every precision",
        f"{units.plural(case.threads, 'thread')}, {case.device}",
        case=case,
        figures=(figure,) if chart is not None else (),
        table=results.tradeoff(found),
    )


def _by_size(found: BySize) -> Entry:
    case, plane = found.case, sizes.chart(found)
    figure = Figure("plane", plane, f"{sizes.TITLE}: {sizes.title(found)}", sizes.CAPTION)
    return Entry(
        sizes.title(found),
        f"{case.precision}, {units.plural(case.threads, 'thread')}, {case.device}",
        figures=(figure,) if plane is not None else (),
        table=sizes.table(found),
    )


def _scaling(found: Scaling) -> Entry:
    case, where = found.case, results.question(found.case)
    about = [case.precision]
    if found.over == "processes":
        about.append(f"{units.plural(case.threads, 'thread')} each")
    elif case.processes > 1:
        about.append(sentences.workers(case))
    return Entry(f"{where}: by {found.over}", ", ".join([*about, case.device]), case=case, table=results.scaling(found))


_STEP = (
    "A step is what is timed: a batch with its labels in host memory in; forward, loss, backward and update; the loss "
    "in host memory out. Every hyper-parameter is the same for all and stands under Settings. Peak memory is the most "
    "that was resident in a launch that did nothing but train, median over launches."
)
_ROOFLINE = (
    "One mark an operator: its fastest arm, with a line down to the slowest that is equal. The dashed line is what "
    "NumPy reached on this machine: to the left what memory delivers, to the right matrix products. A mark above it "
    "has its data in a cache, computes less than is counted, or is faster than NumPy."
)
_COURSE = (
    "Test accuracy over training time, medians over seeds; the dashed line is the target, a mark where an arm was "
    "there."
)
_TRADEOFF = (
    "One mark an arm and precision; a line joins the precisions of one arm. Hollow marks are not equal to the "
    "reference."
)
