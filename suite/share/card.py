"""A run as a card: an SVG for a README, and Markdown for a pull request."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from suite.analysis.types import Analysis, RankedBlock, RankedRow, TimedBlock
from suite.errors import printable
from suite.history.environment import machine_title
from suite.record.schema import Run
from suite.report import loadgen, names, pages, sentences, separation, units
from suite.report.sentences import shortened
from suite.report.separation import IN_THESE_MINUTES
from suite.safety.markdown import text as cell

TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 720
"""Pixels."""
_MOST_ROWS = 8


def markdown(run: Run, analysis: Analysis) -> str:
    """Return the run's verdicts as Markdown: a sentence, then a table for every timed case.

    Parameters
    ----------
    run, analysis
        A record, and the analysis of it.
    """
    return "\n".join(_lines(run, analysis)) + "\n"


def _lines(run: Run, analysis: Analysis) -> Iterator[str]:
    yield f"**{cell(sentences.overall(analysis))}**"
    yield ""
    yield cell(f"{sentences.parity(analysis)} {sentences.where_measured(run)} Run {run.id}, {run.started[:10]}.")
    for block in analysis.timed:
        yield from ("", f"### {cell(sentences.title(block.case))}", "")
        value = block.case.rate_unit if block.case.per_item else "geometric mean"
        yield f"| | arm | {value} (95 % {IN_THESE_MINUTES}) | behind the best (95 %) | best is |"
        yield "|---:|---|---:|---:|---|"
        yield from (_table_row(row, block, sentences.cost(row, block.case)) for row in block.rows)
        if block.case.one_by_one:
            yield from ("", sentences.ONE_BY_ONE)
    for trained in analysis.convergence:
        title = f"{names.network(trained.case)}, training to {sentences.goal(trained)} on {sentences.images(run)}"
        yield from ("", f"### {cell(title)}", "")
        yield f"| | arm | time (95 % {IN_THESE_MINUTES}) | behind the best (95 %) | best is | steps (95 %) |"
        yield "|---:|---|---:|---:|---|---:|"
        for result in trained.rows:
            time, steps = units.time_with_interval(result.time_ns), units.rate_with_interval(result.steps)
            yield _table_row(result, trained, time, steps)
    for driven in analysis.loadgen:
        title = f"{names.network(driven.case)}, LoadGen {driven.scenario}: {loadgen.what(driven)}"
        yield from ("", f"### {cell(title)}", "")
        value = driven.case.rate_unit if driven.case.per_item else "percentile"
        yield f"| | arm | {value} (95 % {IN_THESE_MINUTES}) | behind the best (95 %) | best is | LoadGen says |"
        yield "|---:|---|---:|---:|---|---|"
        yield from (_table_row(row, driven, loadgen.cost(row), loadgen.validity(row)) for row in driven.rows)
    if analysis.loadgen:
        yield from ("", cell(loadgen.NOT_A_RESULT))


def _table_row(row: RankedRow, block: RankedBlock, cost: str, *more: str) -> str:
    rank = "" if row.rank is None else str(row.rank)
    cells = (rank, row.arm, cost, separation.behind(row, block), separation.best_is(row, block), *more)
    return f"| {' | '.join(map(cell, cells))} |"


def svg(run: Run, analysis: Analysis) -> str:
    """Return the run's latency (or the first timed blocks, where there is none) as one picture with bars.

    Parameters
    ----------
    run, analysis
        A record, and the analysis of it. Texts of the record are escaped.

    Returns
    -------
    str
        An SVG document, `WIDTH` pixels wide.
    """
    blocks = [block for block in analysis.timed if block.case.scenario == "latency"] or analysis.timed[:3]
    lines = [
        (shortened(sentences.overall(analysis), 92), 15, 700),
        (shortened(f"{sentences.parity(analysis)} {run.started[:10]}, {machine_title(run.machine)}.", 110), 12, 400),
    ]
    template = pages.templates(TEMPLATES).get_template("card.svg.j2")
    made = template.render(
        label=shortened(sentences.overall(analysis), 200),
        lines=lines,
        blocks=[(sentences.title(block.case), list(_bars(block))) for block in blocks],
        width=WIDTH,
        printable=printable,
    )
    return f"{made}\n"


class Bar(msgspec.Struct, frozen=True):
    """One arm: a bar with its value, or the standing of an arm without numbers."""

    arm: str
    value: str
    width: float | None = None
    colour: str = ""


def _bars(block: TimedBlock) -> Iterator[Bar]:
    costs = {row.arm: row.compared(block.case) for row in block.rows if row.standing in ("ranked", "shown")}
    longest = max((cost.value for cost in costs.values() if cost is not None), default=1.0)
    for row in block.rows[:_MOST_ROWS]:
        arm, cost = shortened(row.arm, 22), costs.get(row.arm)
        if cost is None:
            yield Bar(arm, row.standing)
            continue
        value = f"{units.rate(cost.value)} {block.case.rate_unit}" if block.case.per_item else units.time(cost.value)
        yield Bar(arm, value, max(2.0, 380 * cost.value / longest), names.colour_on_white(row.backend))
