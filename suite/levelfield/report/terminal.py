"""The whole result in the terminal: verdict first, then a table a block, then what a reader must know."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from rich.console import Console, RenderableType
from rich.text import Text

from levelfield import terminals
from levelfield.analysis import Analysis, types
from levelfield.errors import one_line
from levelfield.record.schema import Run, Warning_
from levelfield.report import (
    answers,
    hardware,
    insights,
    loadgen,
    names,
    operators,
    results,
    sections,
    sentences,
    states,
    units,
)
from levelfield.report.tables import Table, plain_table, rendered, text

NARROW = 110
"""Columns of a terminal below which only ranks, values and leads are shown."""
NARROW_CONVERGENCE = 150
"""The same for the table of time to accuracy, which has more columns."""
INSIGHTS = 3
"""Of each kind, in the terminal."""


def show(run: Run, analysis: Analysis, console: Console) -> None:
    """Print a run's result; texts from the record are printed as they are, never as rich's markup."""
    terminals.show(console, _parts(run, analysis, columns=console.width))


def _parts(run: Run, analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
    narrow = columns < NARROW
    yield from head(run, analysis)
    yield from rankings(analysis, columns=columns)
    yield from whole_launches(analysis, narrow=narrow)
    yield from asked_for(run, analysis, narrow=narrow)
    yield from _insights(analysis, narrow=narrow)
    yield Text()
    for warning in analysis.warnings:
        yield _warning(warning)
    if analysis.identical is not None:
        yield text(sentences.identical(analysis), "dim")
    yield text(f"Supervisor during windows: {sentences.supervisor(run.supervisor_window_share)}.", "dim")
    if analysis.time_spent is not None:
        yield text(sentences.time_spent(analysis.time_spent), "dim")


def head(run: Run, analysis: Analysis) -> Iterator[Text]:
    """Yield the verdict of the whole run, and what bounds it."""
    loud = run.settings.launcher != "docker"
    yield Text()
    for sentence in sentences.labels(run.labels):
        yield text(sentence, "bold yellow")
    yield text(sentences.where_measured(run), "bold yellow" if loud else "dim")
    for line in answers.answers(analysis):
        yield text(f"{line.model}: {line.text}" if line.model else line.text, "bold")
    if states.sentence(analysis):
        yield text(states.sentence(analysis), "dim")
    if sentences.parity(analysis) not in answers.overall(analysis):
        all_equal = analysis.status.answers_compared == analysis.status.answers_equal
        yield text(sentences.parity(analysis), "green" if all_equal else "bold red")
    if failed := sentences.data_sets_failed(analysis):
        yield text(failed, "bold red")
    if analysis.status.rounds_disturbed:
        yield text(sentences.disturbed(analysis), "yellow")


def rankings(analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
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
        table = results.trained(trained, analysis.convergence)
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

    def total(row: types.ColdRow) -> str:
        if narrow and row.total_ns is not None:
            return units.time(row.total_ns.value)
        return units.time_with_interval(row.total_ns)

    def peak(row: types.MemoryRow) -> str:
        return units.size(row.peak_bytes)

    if analysis.cold:
        title = "Cold start: container or interpreter, import, load and first call"
        yield from _table(results.grid(title, analysis.cold, total), narrow=narrow)
    if analysis.memory:
        yield from _table(results.grid("Peak memory", analysis.memory, peak), narrow=narrow)


def asked_for(run: Run, analysis: Analysis, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the tables that no default run has: accuracy, precisions, sizes, scaling and costs."""
    for section in sections.asked_for(run, analysis):
        for entry in section.entries:
            if entry.table is not None:
                title = f"{section.title}: {entry.heading}, {entry.about}"
                yield from _titled(title, entry.table, narrow=narrow)
        for table in section.tables:
            yield from _titled(f"{section.title}: {table.title}", table, narrow=narrow)
        if section.lead:
            yield text(section.lead, "dim")
    yield from show_costs(run, analysis)


def show_costs(run: Run, analysis: Analysis) -> Iterator[RenderableType]:
    """Yield the tables of costs with what they are computed from; nothing where no price was given."""
    found = hardware.cost_tables(run, analysis)
    for table in found:
        yield from _titled(f"{hardware.COST}: {table.title}", table, narrow=False)
    if found:
        yield text(hardware.cost_lead(run), "dim")


def _insights(analysis: Analysis, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the first insights of each kind; all of them, and tables where there is little room, are in the report."""
    for section in insights.sections(analysis.insights):
        yield Text()
        yield text(section.title, "bold")
        left = 0
        for part in section.parts:
            left += max(0, len(part.listed) - INSIGHTS)
            yield from (text(f"• {sentence}") for sentence in part.listed[:INSIGHTS])
            for table in part.tables:
                shown = () if narrow or part.summary else table.lines[:INSIGHTS]
                left += len(table.lines) - len(shown)
                if shown:
                    yield rendered(replace(table, lines=shown))
        if left:
            yield text(f"  {left} more in the report", "dim")


def _reasons(block: types.RankedBlock) -> Iterator[Text]:
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


Ranked: TypeAlias = types.TimedBlock | types.ConvergenceBlock | types.LoadGenBlock

MOST_TABLES = 2
"""Cases whose arms are listed; of more, each has one line."""
MOST_OPERATORS = 12
"""Operators whose times are listed."""
MOST_LEADERS = 2
"""Arms of the first rank of a case that are named."""
MOST_REASONS = 5
"""Reasons that are shown for arms without a rank."""
MOST_WARNINGS = 3
"""Warnings that are shown; the report has all."""
LONGEST_WARNING = 150
"""Characters of a warning."""


def show_summary(run: Run, analysis: Analysis, console: Console) -> None:
    """Print what a run found, in short; texts from the record are never rich's markup."""
    terminals.show(console, _parts_of_summary(run, analysis, columns=console.width))


def _parts_of_summary(run: Run, analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
    yield from head(run, analysis)
    blocks: list[Ranked] = [each for each in analysis.timed if not operators.is_one(each)]
    blocks += [*analysis.convergence, *analysis.loadgen]
    single = operators.table(analysis)
    listed = len(blocks) <= MOST_TABLES and (single is None or len(single.table.lines) <= MOST_OPERATORS)
    if listed:
        yield from rankings(analysis, columns=columns)
    else:
        if single is not None:
            yield text(f"The times of {units.plural(len(single.table.lines), 'operator')} are in the report.")
        yield from _verdicts(blocks, analysis)
        if analysis.loadgen:
            yield text(loadgen.NOT_A_RESULT, "yellow")
    narrow = columns < NARROW
    if not blocks and single is None:
        yield from whole_launches(analysis, narrow=narrow)
    said = {row.reason for block in blocks for row in block.rows} if listed else set()
    yield from _reasons_of_summary([*blocks, *analysis.cold, *analysis.memory], said)
    yield from asked_for(run, analysis, narrow=narrow)
    yield Text()
    yield from _warnings(analysis.warnings)


def _verdicts(blocks: list[Ranked], analysis: Analysis) -> Iterator[RenderableType]:
    """Return one line for each case: which arms lead it, and which comes next."""
    if not blocks:
        return
    reasons = {block.unranked_reason for block in blocks}
    yield Text()
    if all(block.best is None for block in blocks) and len(reasons) == 1:
        yield text(f"None of {len(blocks)} cases is ranked: {reasons.pop()}.", "dim")
        return
    table = plain_table(f"Fastest in each case, 95 % {sentences.IN_THESE_MINUTES}")
    for heading in ("case", "fastest", "next"):
        table.add_column(heading, overflow="fold")
    for block in blocks:
        if block.best is None:
            cells = (sentences.unranked(block), "")
        else:
            first, after = sentences.order(block).level, sentences.order(block).following
            leading = [f"{row.arm} {sentences.full_cost(row, block)}" for row in first[:MOST_LEADERS]]
            leading += [f"and {len(first) - MOST_LEADERS} more"] if len(first) > MOST_LEADERS else []
            cells = ("\n".join(leading), f"{after.arm} {_more(after)}" if after is not None else "")
        table.add_row(*(text(cell) for cell in (_title(block, analysis), *cells)))
    yield table


def _title(block: Ranked, analysis: Analysis) -> str:
    among: Sequence[Ranked] = analysis.timed
    title = sentences.title(block.case)
    if isinstance(block, types.ConvergenceBlock):
        among, title = analysis.convergence, f"{names.network(block.case)}, training to {sentences.goal(block)}"
    elif isinstance(block, types.LoadGenBlock):
        among, title = analysis.loadgen, f"{names.network(block.case)}, LoadGen {block.scenario}"
    return ", ".join([title, *sentences.precisions_apart(block, among)])


def _more(row: types.RankedRow) -> str:
    """Write how much more time than the best an arm takes, without the interval."""
    return units.NO_VALUE if row.ratio is None else units.behind(row.ratio)[0]


def _reasons_of_summary(blocks: Sequence[types.BlockAnalysis], said: Collection[str]) -> Iterator[Text]:
    """Say which arms failed or answered otherwise; once for all, and nothing that was said."""
    unranked = {block.unranked_reason for block in blocks if isinstance(block, types.RankedBlock)}
    reasons: dict[str, dict[str, None]] = {}
    for block in blocks:
        for row in block.rows:
            known = not row.reason or row.reason in said or row.reason in unranked
            if not known and row.standing in ("failed", "unequal", "absent"):
                reasons.setdefault(row.reason, {})[f"{row.arm} ({names.network(block.case)})"] = None
    for reason, arms in itertools.islice(reasons.items(), MOST_REASONS):
        yield text(f"{sentences.join(list(arms))}: {reason}", "yellow")
    if len(reasons) > MOST_REASONS:
        yield text(f"{units.plural(len(reasons) - MOST_REASONS, 'more reason')} in the report.", "dim")


def _warnings(warnings: Sequence[Warning_]) -> Iterator[Text]:
    """Return the beginnings of the first warnings, one of each kind."""
    kinds: dict[str, Warning_] = {}
    for warning in warnings:
        kinds.setdefault(warning.code, warning)
    for first in itertools.islice(kinds.values(), MOST_WARNINGS):
        whole = f"{first.about}: {first.message}" if first.about else first.message
        yield text(f"Warning: {one_line(whole, LONGEST_WARNING)}", "yellow")
    left = len(warnings) - min(len(kinds), MOST_WARNINGS)
    if left > 0:
        yield text(f"{units.plural(left, 'more warning')} in the report.", "dim")
