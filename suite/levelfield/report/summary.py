"""The end of a run in the terminal, on one screen: verdicts and warnings. The rest is in the report."""

import itertools
import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from rich.console import Console, RenderableType
from rich.text import Text

from levelfield.analysis import Analysis
from levelfield.analysis.types import (
    BlockAnalysis,
    ConvergenceBlock,
    ConvergenceRow,
    LoadGenBlock,
    LoadGenRow,
    RankedBlock,
    RankedRow,
    Row,
    TimedBlock,
)
from levelfield.record.schema import Run, Warning_
from levelfield.report import loadgen, names, operators, sentences, separation, terminal, units
from levelfield.report.terminal_tables import plain_table, text

Ranked: TypeAlias = TimedBlock | ConvergenceBlock | LoadGenBlock

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


def show(run: Run, analysis: Analysis, console: Console) -> None:
    """Print what a run found, in short.

    Texts from the record are printed as they are, never as rich's markup.
    """
    for part in _parts(run, analysis, columns=console.width):
        console.print(part, highlight=False, markup=False)


def _parts(run: Run, analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
    yield from terminal.head(run, analysis)
    blocks: list[Ranked] = [each for each in analysis.timed if not operators.is_one(each)]
    blocks += [*analysis.convergence, *analysis.loadgen]
    single = operators.table(analysis)
    listed = len(blocks) <= MOST_TABLES and (single is None or len(single.lines) <= MOST_OPERATORS)
    if listed:
        yield from terminal.rankings(run, analysis, columns=columns)
    else:
        if single is not None:
            yield text(f"The times of {units.plural(len(single.lines), 'operator')} are in the report.")
        yield from _verdicts(blocks, analysis)
        if analysis.loadgen:
            yield text(loadgen.NOT_A_RESULT, "yellow")
    narrow = columns < terminal.NARROW
    if not blocks and single is None:
        yield from terminal.whole_launches(analysis, narrow=narrow)
    said = {row.reason for block in blocks for row in block.rows} if listed else set()
    yield from _reasons([*blocks, *analysis.cold, *analysis.memory], said)
    yield from terminal.asked_for(run, analysis, narrow=narrow)
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
    table = plain_table(f"Fastest in each case, 95 % {separation.IN_THESE_MINUTES}")
    for heading in ("case", "fastest", "next"):
        table.add_column(heading, overflow="fold")
    for block in blocks:
        rows = {row.arm: row for row in block.rows}
        if block.best is None:
            cells = (f"not ranked: {block.unranked_reason}", "")
        else:
            first = (block.best, *block.also_first)
            after = [row for row in block.rows if row.standing == "ranked" and row.arm not in first]
            leading = [f"{arm} {_cost(rows[arm], block)}" for arm in first[:MOST_LEADERS]]
            leading += [f"and {len(first) - MOST_LEADERS} more"] if len(first) > MOST_LEADERS else []
            cells = ("\n".join(leading), "".join(f"{row.arm} {_more(row)}" for row in after[:1]))
        table.add_row(*(text(cell) for cell in (_title(block, analysis), *cells)))
    yield table


def _title(block: Ranked, analysis: Analysis) -> str:
    """Name a case as its table does."""
    among: Sequence[Ranked] = analysis.timed
    title = sentences.title(block.case)
    if isinstance(block, ConvergenceBlock):
        among, title = analysis.convergence, f"{names.network(block.case)}, training to {sentences.goal(block)}"
    elif isinstance(block, LoadGenBlock):
        among, title = analysis.loadgen, f"{names.network(block.case)}, LoadGen {block.scenario}"
    return ", ".join([title, *sentences.precisions_apart(block, among)])


def _cost(row: RankedRow, block: Ranked) -> str:
    """Write what an arm is compared by, with its unit."""
    if isinstance(row, ConvergenceRow):
        return units.time_with_interval(row.time_ns)
    if isinstance(row, LoadGenRow):
        written, per_item = loadgen.cost(row), row.per_second is not None
    else:
        assert isinstance(row, Row)
        written, per_item = sentences.cost(row, block.case), block.case.per_item
    return f"{written}{units.NBSP}{block.case.rate_unit}" if per_item else written


def _more(row: RankedRow) -> str:
    """Write how much more time than the best an arm takes, without the interval."""
    return units.NO_VALUE if row.ratio is None else units.behind(row.ratio)[0]


def _reasons(blocks: Sequence[BlockAnalysis], said: Collection[str]) -> Iterator[Text]:
    """Say which arms failed or answered otherwise; once for all, and nothing that was said."""
    unranked = {block.unranked_reason for block in blocks if isinstance(block, RankedBlock)}
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
    kinds: dict[str, list[Warning_]] = {}
    for warning in warnings:
        kinds.setdefault(warning.code, []).append(warning)
    for first, *others in itertools.islice(kinds.values(), MOST_WARNINGS):
        about = sentences.join(list(dict.fromkeys(each.about for each in (first, *others) if each.about)))
        said = first.message.removeprefix(f"{first.about} ") if not others else first.message
        whole = f"{about}: {said}" if about else said
        yield text(f"Warning: {textwrap.shorten(whole, LONGEST_WARNING, placeholder=' …')}", "yellow")
    left = len(kinds) - MOST_WARNINGS
    if left > 0:
        yield text(f"{units.plural(left, 'more warning')} in the report.", "dim")
