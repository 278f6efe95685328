"""The whole result in the terminal: verdict first, then a table a block, then what a reader must know."""

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console, RenderableType
from rich.text import Text

from levelfield.analysis import Analysis
from levelfield.analysis.types import ColdRow, MemoryRow, RankedBlock
from levelfield.record.schema import Run, Warning_
from levelfield.report import (
    accuracy,
    costs,
    hardware,
    insights,
    loadgen,
    names,
    operators,
    precisions,
    results,
    sentences,
    states,
    units,
)
from levelfield.report.tables import Table
from levelfield.report.terminal_tables import rendered, text

NARROW = 110
"""Columns of a terminal below which only ranks, values and leads are shown."""
NARROW_CONVERGENCE = 150
"""The same for the table of time to accuracy, which has more columns."""
INSIGHTS = 3
"""Of each kind, in the terminal."""


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
    if analysis.time_spent is not None:
        yield text(sentences.time_spent(analysis.time_spent), "dim")


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
        yield from _titled(f"{operators.TITLE}: time of a call", single.table, narrow=narrow)
    for block in (each for each in analysis.timed if not operators.is_one(each)):
        yield from _table(results.timed(block, analysis.timed), narrow=narrow)
        yield from _reasons(block)
        absent = sentences.quantiles_absent(block)
        if absent and not narrow and (block.case.trains or not block.case.per_item):
            yield text(absent, "dim")
        if block.case.one_by_one:
            yield text(sentences.ONE_BY_ONE, "dim")
        if names.note(block.case):
            yield text(names.note(block.case), "dim")
        yield text(sentences.verdict(block, analysis.timed), "dim")
        if states.of_case(block, analysis):
            yield text(states.of_case(block, analysis), "dim")
    for trained in analysis.convergence:
        table = results.trained(trained, analysis.convergence, sentences.images(run))
        yield from _table(table, narrow=columns < NARROW_CONVERGENCE)
        yield from _reasons(trained)
        yield text(sentences.convergence(trained, analysis.convergence), "dim")
    for driven in analysis.loadgen:
        yield from _table(results.driven(driven, analysis.loadgen), narrow=narrow)
        yield from _reasons(driven)
        yield text(sentences.loadgen(driven, analysis.loadgen), "dim")
    if analysis.loadgen:
        yield text(loadgen.NOT_A_RESULT, "yellow")


def _table(table: Table, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield a table below an empty line, and its notes."""
    yield Text()
    yield rendered(table, narrow=narrow)
    yield from (text(note, "dim") for note in table.notes)


def _titled(title: str, table: Table, *, narrow: bool) -> Iterator[RenderableType]:
    yield from _table(replace(table, title=title), narrow=narrow)


def whole_launches(analysis: Analysis, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the tables of cold starts and of peak memory."""

    def total(row: ColdRow) -> str:
        if narrow and row.total_ns is not None:
            return units.time(row.total_ns.value)
        return units.time_with_interval(row.total_ns)

    def peak(row: MemoryRow) -> str:
        return units.size(row.peak_bytes)

    if analysis.cold:
        title = "Cold start: container or interpreter, import, load and first call"
        yield from _table(results.grid(title, analysis.cold, total), narrow=narrow)
    if analysis.memory:
        yield from _table(results.grid("Peak memory", analysis.memory, peak), narrow=narrow)


def asked_for(run: Run, analysis: Analysis, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the tables that no default run has: precisions, scaling, all-reduce, accuracy and costs."""
    for found in analysis.tradeoffs:
        where = f"{sentences.title(found.case)}, {units.plural(found.case.threads, 'thread')}"
        yield from _titled(f"Speed and accuracy: {where}", precisions.tradeoff(found), narrow=narrow)
    for curves in analysis.scalings:
        case = curves.case
        about = [names.model(case.model), names.scenario_title(case).lower(), case.precision, f"batch {case.batch}"]
        about += [f"{units.plural(case.threads, 'thread')} each"] if curves.over == "processes" else []
        title = f"Scaling with {curves.over}: {', '.join(about)}"
        yield from _titled(title, precisions.scaling(curves), narrow=narrow)
    for sums in analysis.all_reduces:
        table = hardware.all_reduce(sums)
        yield from _titled(f"All-reduce: {table.title}", table, narrow=narrow)
    judged = accuracy.tables(run, analysis)
    for table in judged:
        yield from _titled(f"{accuracy.TITLE}: {table.title}", table, narrow=narrow)
    if judged:
        yield text(accuracy.lead(run), "dim")
    yield from show_costs(run, analysis)


def show_costs(run: Run, analysis: Analysis) -> Iterator[RenderableType]:
    """Yield the tables of costs with what they are computed from; nothing where no price was given."""
    found = costs.tables(run, analysis)
    for table in found:
        yield from _titled(f"{costs.TITLE}: {table.title}", table, narrow=False)
    if found:
        yield text(costs.lead(run), "dim")


def _insights(analysis: Analysis) -> Iterator[Text]:
    """Say the first insights of each kind; all of them are in the report."""
    for section in insights.sections(analysis.insights):
        yield Text()
        yield text(section.title, "bold")
        yield from (text(f"• {sentence}") for sentence in section.sentences[:INSIGHTS])
        left = len(section.sentences) - INSIGHTS
        if left > 0:
            yield text(f"  and {left} more in the report", "dim")


def _parity_style(analysis: Analysis) -> str:
    return "green" if analysis.status.answers_compared == analysis.status.answers_equal else "bold red"


def _reasons(block: RankedBlock) -> Iterator[Text]:
    """Return why arms are not ranked; a reason that several share is given once."""
    reasons: dict[str, list[str]] = {}
    for row in block.rows:
        if row.reason and row.standing != "control" and row.reason != block.unranked_reason:
            reasons.setdefault(row.reason, []).append(row.arm)
    for reason, arms in reasons.items():
        yield text(f"{sentences.join(arms)}: {reason}", "dim")


def _warning(warning: Warning_) -> Text:
    whole = Text().append("Warning: ", "bold yellow")
    if warning.about:
        whole.append(text(f"{warning.about}: "))
    whole.append(text(warning.message))
    if warning.remedy:
        whole.append(text(f"\n  → {warning.remedy}", "dim"))
    return whole
