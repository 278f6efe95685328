"""The whole result in the terminal: verdict first, then a table a block, then what a reader must know."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from levelfield.analysis import all_reduce, precision, scaling, time_spent
from levelfield.analysis.all_reduce import AllReduceBlock
from levelfield.analysis.precision import Tradeoff
from levelfield.analysis.scaling import Scaling
from levelfield.analysis.types import (
    Analysis,
    ArmRow,
    ColdRow,
    ConvergenceBlock,
    ConvergenceRow,
    LoadGenBlock,
    LoadGenRow,
    RankedBlock,
    Row,
    Standing,
    TimedBlock,
)
from levelfield.errors import printable
from levelfield.record.schema import Absent, Run, Warning_
from levelfield.report import accuracy, costs, insights, loadgen, names, operators, sentences, separation, states, units
from levelfield.report.costs import CostTable
from levelfield.report.identifier import Identifier
from levelfield.report.operators import OperatorTable
from levelfield.report.separation import IN_THESE_MINUTES

FEW = 4
"""Columns of a table whose headings are not broken."""
NARROW = 110
"""Columns of a terminal below which only ranks, values and leads are shown."""
NARROW_CONVERGENCE = 150
"""The same for the table of time to accuracy, which has more columns."""

SHORTEST_ARM = 8
"""Columns that names keep in the narrowest terminal."""

GEOMETRIC_MEAN = "geometric mean"
"""Of the launches' times: what the column of times holds."""

BUSY = "when a\nneighbour\nis busy"
"""Column of the ratio to the best when the machine is contended."""

INSIGHTS = 3
"""Of each kind, in the terminal."""

Ranked = TypeVar("Ranked", Row, ConvergenceRow, LoadGenRow)


_MARKS: dict[Standing, tuple[str, str]] = {
    "ranked": ("", ""),
    "control": ("control", "dim"),
    "shown": ("", ""),
    "unequal": ("not equal", "bold red"),
    "failed": ("failed", "bold red"),
    "absent": ("absent", "dim"),
}


def show(run: Run, analysis: Analysis, console: Console) -> None:
    """Print a run's result.

    Texts from the record are printed as they are, never as rich's markup.
    """
    for part in _parts(run, analysis, columns=console.width):
        console.print(part, highlight=False, markup=False)


def _parts(run: Run, analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
    narrow = columns < NARROW
    yield from head(run, analysis)
    yield from rankings(run, analysis, columns=columns)
    yield from whole_launches(analysis, narrow=narrow)
    yield from asked_for(run, analysis, narrow=narrow)
    yield from _insights(analysis)
    yield Text()
    for warning in analysis.warnings:
        yield _warning(warning)
    for line in filter(None, (sentences.identical(analysis), sentences.calibrated(run))):
        yield text(line, "dim")
    yield text(f"Supervisor during windows: {sentences.supervisor(run.supervisor_window_share)}.", "dim")
    spent = time_spent.summarise(run)
    if spent is not None:
        yield text(sentences.time_spent(spent), "dim")


def head(run: Run, analysis: Analysis) -> Iterator[Text]:
    """Yield the verdict of the whole run, and what bounds it."""
    loud = run.settings.launcher != "docker"
    yield Text()
    for name in run.labels:
        yield text(sentences.label(name), "bold yellow")
    yield text(sentences.where_measured(run), "bold yellow" if loud else "dim")
    yield text(sentences.overall(analysis), "bold")
    if states.sentence(analysis):
        yield text(states.sentence(analysis), "dim")
    if sentences.parity(analysis) not in sentences.overall(analysis):
        yield text(sentences.parity(analysis), _parity_style(analysis))
    if analysis.status.rounds_disturbed:
        yield text(sentences.disturbed(analysis), "yellow")


def rankings(run: Run, analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
    """Yield the table of every case with an order of its arms, and what is said of it."""
    narrow = columns < NARROW
    single = operators.table(analysis)
    if single is not None:
        yield Text()
        yield _operators(single, narrow=narrow)
    for block in (each for each in analysis.timed if not operators.is_one(each)):
        yield Text()
        yield _timed(block, analysis, narrow=narrow)
        yield from _reasons(block)
        absent = sentences.quantiles_absent(block)
        if absent and not narrow and "p90" in _headings(block):
            yield text(absent, "dim")
        if block.case.one_by_one:
            yield text(sentences.ONE_BY_ONE, "dim")
        if names.note(block.case):
            yield text(names.note(block.case), "dim")
        yield text(sentences.verdict(block, analysis.timed), "dim")
        if states.of_case(block, analysis):
            yield text(states.of_case(block, analysis), "dim")
    for trained in analysis.convergence:
        yield Text()
        yield _convergence(trained, analysis, sentences.images(run), narrow=columns < NARROW_CONVERGENCE)
        yield from _reasons(trained)
        yield text(sentences.convergence(trained, analysis.convergence), "dim")
    for driven in analysis.loadgen:
        yield Text()
        yield _loadgen(driven, analysis, narrow=narrow)
        yield from _reasons(driven)
        yield text(sentences.loadgen(driven, analysis.loadgen), "dim")
    if analysis.loadgen:
        yield text(loadgen.NOT_A_RESULT, "yellow")


def whole_launches(analysis: Analysis, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the tables of cold starts and of peak memory."""
    if analysis.cold:
        yield Text()
        title = "Cold start: container or interpreter, import, load and first call"
        totals = (
            (sentences.named(cold, analysis.cold), row, _cold_total(row, narrow=narrow))
            for cold in analysis.cold
            for row in cold.rows
        )
        yield _grid(title, totals)
    if analysis.memory:
        yield Text()
        peaks = (
            (sentences.named(found, analysis.memory), row, units.size(row.peak_bytes))
            for found in analysis.memory
            for row in found.rows
        )
        yield _grid("Peak memory", peaks)


def asked_for(run: Run, analysis: Analysis, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the tables that no default run has: precisions, scaling, all-reduce, accuracy and costs."""
    for found in precision.summarise(run, analysis):
        yield Text()
        yield _tradeoff(found, narrow=narrow)
    for curves in scaling.summarise(run, analysis):
        yield Text()
        yield _scaling(curves)
    for sums in all_reduce.summarise(run):
        yield Text()
        yield _all_reduce(sums)
    yield from _accuracies(run, analysis)
    yield from show_costs(run, analysis)


def show_costs(run: Run, analysis: Analysis) -> Iterator[RenderableType]:
    """Yield the tables of costs with what they are computed from; nothing where no price was given."""
    found = costs.tables(run, analysis)
    for table in found:
        yield Text()
        yield _costs(table)
        yield from (text(note, "dim") for note in table.notes)
    if found:
        yield text(costs.lead(run), "dim")


def _accuracies(run: Run, analysis: Analysis) -> Iterator[RenderableType]:
    """Yield what answers to data sets were worth; nothing where none was answered."""
    found = accuracy.tables(run, analysis)
    for each in found:
        yield Text()
        yield _accuracy(each.title, each.headings, each.lines)
        if each.losses:
            yield _accuracy("In a lower precision, less fp32", each.loss_headings, each.losses)
        yield from (text(note, "dim") for note in each.notes)
    if found:
        yield text(accuracy.lead(run), "dim")


def _accuracy(title: str, headings: Sequence[str], lines: Sequence[accuracy.Line]) -> Table:
    table = plain_table(f"{accuracy.TITLE}: {title}")
    _add_arms(table)
    table.add_column("precision")
    for heading in headings:
        table.add_column(text(heading), justify="right")
    for line in lines:
        cells = (f"{value} ({interval})" if interval else value for value, interval in line.cells)
        table.add_row(_arm(line.arm), *map(text, (line.precision, *cells)))
    return table


def _costs(found: CostTable) -> Table:
    table = plain_table(f"{costs.TITLE}: {found.title}")
    _add_arms(table)
    table.add_column(text(f"{found.heading} (95 %)"), justify="right", no_wrap=True)
    for line in found.lines:
        table.add_row(_arm(line.arm), text(f"{line.value} ({line.bounds})" if line.bounds else line.value))
    return table


def _insights(analysis: Analysis) -> Iterator[Text]:
    """Say the first insights of each kind; all of them are in the report."""
    for section in insights.sections(analysis.insights):
        yield Text()
        yield text(section.title, "bold")
        yield from (text(f"• {sentence}") for sentence in section.sentences[:INSIGHTS])
        left = len(section.sentences) - INSIGHTS
        if left > 0:
            yield text(f"  and {left} more in the report", "dim")


def text(content: str, style: str = "") -> Text:
    """Make a text without control characters: a record must not control the terminal."""
    return Text(printable(content), style)


def _parity_style(analysis: Analysis) -> str:
    return "green" if analysis.status.answers_compared == analysis.status.answers_equal else "bold red"


def plain_table(title: str) -> Table:
    """Return a table without lines between its columns."""
    return Table(
        title=text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )


def _add_columns(table: Table, *names: str, right: bool = True) -> None:
    for name in names:
        table.add_column(name, justify="right" if right else "left", no_wrap=True)


def _add_arms(table: Table) -> None:
    """Add the one column that gives way where a terminal is narrow: figures are never cut off."""
    table.add_column("arm", min_width=SHORTEST_ARM)


def _arm(name: str) -> Identifier:
    return Identifier(printable(name))


def _ranked(
    title: str,
    block: RankedBlock,
    rows: Sequence[Ranked],
    cost: tuple[str, Callable[[Ranked], str]],
    extras: Mapping[str, Callable[[Ranked], str]],
) -> Table:
    """Return the table of a block: rank, arm, cost, distance to the best, what else there is, and "best is"."""
    table = plain_table(title)
    _add_columns(table, "")
    _add_arms(table)
    _add_columns(table, _heading(cost[0]), "behind the best", *extras)
    _add_columns(table, "best is", right=False)
    for row in rows:
        mark, style = _MARKS[row.standing]
        table.add_row(
            text("" if row.rank is None else str(row.rank)),
            _arm(row.arm),
            text(cost[1](row)),
            text(mark, style) if mark else text(separation.behind(row, block)),
            *(text(write(row)) for write in extras.values()),
            text(separation.best_is(row, block)),
            style=_row_style(row.standing),
        )
    return table


def _operators(found: OperatorTable, *, narrow: bool) -> Table:
    """One line for each operator: all times where there is room, else the arms of the first rank."""
    table = plain_table(f"{operators.TITLE}: time of a call")
    table.add_column("operator")
    _add_columns(table, *(["fastest"] if narrow else [arm for arm, _ in found.arms]))
    for line in found.lines:
        table.add_row(text(line.name), *map(text, [line.fastest] if narrow else line.times))
    return table


def _row_style(standing: Standing) -> str | None:
    return None if standing in ("ranked", "shown") else "dim"


def _timed(block: TimedBlock, analysis: Analysis, *, narrow: bool) -> Table:
    case = block.case
    title = ", ".join([sentences.title(case), *sentences.precisions_apart(block, analysis.timed)])
    busy: dict[str, Callable[[Row], str]] = {BUSY: states.contended} if states.has_contended(block) else {}
    extras = busy | ({} if narrow else {name: _EXTRAS[name] for name in _headings(block)})
    heading = case.rate_unit if case.per_item else GEOMETRIC_MEAN
    return _ranked(title, block, block.rows, (heading, lambda row: sentences.cost(row, case)), extras)


def _convergence(block: ConvergenceBlock, analysis: Analysis, images: str, *, narrow: bool) -> Table:
    """Time and steps to the target accuracy, arm by arm."""
    where = sentences.named(block, analysis.convergence)
    title = f"{where}, training to {sentences.goal(block)} on {images}"
    extras = dict(itertools.islice(_TRAINING_EXTRAS.items(), 1 if narrow else None))
    return _ranked(title, block, block.rows, ("time", lambda row: units.time_with_interval(row.time_ns)), extras)


def _loadgen(block: LoadGenBlock, analysis: Analysis, *, narrow: bool) -> Table:
    """What LoadGen found, arm by arm, with its own verdict; in SingleStream beside this tool's own percentile."""
    title = f"{sentences.named(block, analysis.loadgen)}, LoadGen {block.scenario}: {loadgen.what(block)}"
    extras: dict[str, Callable[[LoadGenRow], str]] = {"LoadGen\nsays": loadgen.validity}
    if block.scenario == "SingleStream" and not narrow:
        extras["LoadGen’s\nover ours"] = lambda row: units.times(row.against_own)
        extras["ours"] = lambda row: units.time(row.own_p90_ns)
    heading = block.case.rate_unit if block.case.per_item else "percentile"
    return _ranked(title, block, block.rows, (heading, loadgen.cost), extras)


def _heading(name: str) -> str:
    return f"{name}\n95 % {IN_THESE_MINUTES.replace(' ', chr(10), 1)}"


def _headings(block: TimedBlock) -> list[str]:
    if block.case.trains:
        return ["step", "p90", "p99", "CPU", "peak memory"]
    return ["call", "CPU"] if block.case.per_item else ["p90", "p99", "CPU"]


def _median_call(row: Row) -> str:
    return units.time(row.call_ns.value if row.call_ns else None)


_EXTRAS: Mapping[str, Callable[[Row], str]] = MappingProxyType(
    {
        "step": _median_call,
        "call": _median_call,
        "p90": lambda row: units.time(row.p90_ns),
        "p99": lambda row: units.time(row.p99_ns),
        "CPU": lambda row: units.NO_VALUE if row.cpu_cores is None else f"{row.cpu_cores:.2f}",
        "peak memory": lambda row: units.size(row.peak_bytes),
    }
)
"""Heading to cell of the columns that timed cases have beside their cost."""
_TRAINING_EXTRAS: Mapping[str, Callable[[ConvergenceRow], str]] = MappingProxyType(
    {
        "steps (95 %)": lambda row: units.rate_with_interval(row.steps),
        "seeds\nthere": lambda row: f"{row.seeds_reached} of {row.launches}",
        "accuracy\nat the end": lambda row: units.NO_VALUE if row.accuracy is None else units.accuracy(row.accuracy),
        "step": lambda row: units.time(row.step_ns),
        "load": lambda row: units.time(row.load_ns),
        "peak\nmemory": lambda row: units.size(row.peak_bytes),
    }
)
"""The same of trainings to a target; the first is shown in a narrow terminal, too."""


def _reasons(block: RankedBlock) -> Iterator[Text]:
    """Return why arms are not ranked; a reason that several share is given once."""
    reasons: dict[str, list[str]] = {}
    for row in block.rows:
        if row.reason and row.standing != "control" and row.reason != block.unranked_reason:
            reasons.setdefault(row.reason, []).append(row.arm)
    for reason, arms in reasons.items():
        yield text(f"{sentences.join(arms)}: {reason}", "dim")


def _tradeoff(found: Tradeoff, *, narrow: bool) -> Table:
    """Speed against accuracy: every arm in every precision, against itself in fp32 and against the reference."""
    case = found.case
    table = plain_table(f"Speed and accuracy: {sentences.title(case)}, {units.plural(case.threads, 'thread')}")
    _add_arms(table)
    _add_columns(table, "precision", right=False)
    _add_columns(table, _heading(case.rate_unit if case.per_item else GEOMETRIC_MEAN), "against fp32", "error")
    _add_columns(table, *([] if narrow else ["cosine", "same class"]))
    _add_columns(table, "" if narrow else "computed in", right=False)
    for level in found.levels:
        row, parity = level.row, level.row.parity
        mark, style = _MARKS[row.standing]
        errors = [_known(parity.relative_error, units.error) if parity else units.NO_VALUE]
        if not narrow:
            errors.append(_known(parity.cosine, lambda value: units.fixed(value, 4)) if parity else units.NO_VALUE)
            errors.append(_known(parity.top_1, units.percent) if parity else units.NO_VALUE)
        computed = "" if narrow or parity is None else parity.computed_in + (" (emulated)" if parity.emulated else "")
        table.add_row(
            _arm(row.arm),
            *map(text, (level.precision, sentences.cost(row, case), units.times(level.speed_up), *errors)),
            text(" ".join(filter(None, (computed, mark))), style),
            style=_row_style(row.standing),
        )
    return table


def _known(value: float | Absent, write: Callable[[float], str]) -> str:
    return units.NO_VALUE if isinstance(value, Absent) else write(value)


def _scaling(found: Scaling) -> Table:
    """Speed-up and efficiency by threads or processes."""
    case = found.case
    about = [names.model(case.model), names.scenario_title(case).lower(), case.precision, f"batch {case.batch}"]
    about += [units.plural(case.threads, "thread") + " each"] if found.over == "processes" else []
    table = plain_table(f"Scaling with {found.over}: {', '.join(about)}")
    _add_arms(table)
    for count in found.counts[1:]:
        _add_columns(table, f"{count} against {found.counts[0]} (95 %)", "efficiency")
    for curve in found.curves:
        points = [curve.at(count) for count in found.counts[1:]]
        cells = []
        for point in points:
            cells.append(units.times(point.speed_up if point else None))
            cells.append(units.share_with_interval(point.efficiency if point else None))
        table.add_row(_arm(curve.arm), *map(text, cells))
    return table


def _all_reduce(found: AllReduceBlock) -> Table:
    """Time and bandwidth of a sum over all processes."""
    case = found.case
    together = units.plural(case.processes, "process", "processes")
    table = plain_table(f"All-reduce of {units.size(found.vector_bytes)}: {names.model(case.model)}, {together}")
    _add_arms(table)
    _add_columns(table, "median", "of launches", "bus bandwidth")
    for row in found.rows:
        spread = f"{units.time(row.lowest_ns)} – {units.time(row.highest_ns)}"
        rate = f"{units.size(row.bus_bytes_per_s)}/s"
        table.add_row(_arm(row.arm), *map(text, (units.time(row.median_ns), spread, rate)))
    return table


def _grid(title: str, results: Iterable[tuple[str, ArmRow, str]]) -> Table:
    """Return a table of arms by models; each result is a model's name, an arm's row and its value."""
    cells: dict[str, dict[str, str]] = {}
    for model, row, value in results:
        mark = _MARKS[row.standing][0]
        cells.setdefault(row.arm, {})[model] = f"{mark} {value}" if row.standing == "unequal" else mark or value
    table = plain_table(title)
    models = list(dict.fromkeys(model for values in cells.values() for model in values))
    _add_arms(table)
    for model in models:
        table.add_column(text(model), justify="right", no_wrap=len(models) <= FEW)
    for arm, values in cells.items():
        table.add_row(_arm(arm), *(text(values.get(model, units.NO_VALUE)) for model in models))
    return table


def _cold_total(row: ColdRow, *, narrow: bool) -> str:
    if narrow and row.total_ns is not None:
        return units.time(row.total_ns.value)
    return units.time_with_interval(row.total_ns)


def _warning(warning: Warning_) -> Text:
    whole = Text().append("Warning: ", "bold yellow")
    if warning.about:
        whole.append(text(f"{warning.about}: "))
    whole.append(text(warning.message))
    if warning.remedy:
        whole.append(text(f"\n  → {warning.remedy}", "dim"))
    return whole
