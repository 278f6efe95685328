"""A run as a card: an SVG for a README, and Markdown for a pull request."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from suite.analysis.types import Analysis, RankedBlock, RankedRow, TimedBlock
from suite.errors import printable
from suite.history.environment import machine_title
from suite.record.schema import Run
from suite.report import names, sentences, separation, units
from suite.report.sentences import shortened
from suite.report.separation import IN_THESE_MINUTES
from suite.safety.markdown import text as cell

WIDTH = 720
_ROW, _TITLE, _EDGE = 22, 46, 20
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
    yield cell(f"{sentences.parity(analysis)} {sentences.place(run)} Run {run.id}, {run.started[:10]}.")
    for block in analysis.timed:
        yield from ("", f"### {cell(sentences.title(block.case))}", "")
        value = "items/s" if block.case.per_item else "geometric mean"
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
    parts: list[str] = []
    top = _EDGE + 22
    for text, size, weight in (
        (shortened(sentences.overall(analysis), 92), 15, 700),
        (shortened(f"{sentences.parity(analysis)} {run.started[:10]}, {machine_title(run.machine)}.", 110), 12, 400),
    ):
        parts.append(_text(_EDGE, top, text, size=size, weight=weight))
        top += 20
    for block in [block for block in analysis.timed if block.case.scenario == "latency"] or list(analysis.timed[:3]):
        parts.append(_text(_EDGE, top + 22, sentences.title(block.case), size=13, weight=600))
        top += _TITLE - 12
        parts += _bars(block, top)
        top += _ROW * min(_MOST_ROWS, len(block.rows)) + 6
    height = top + _EDGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{_xml(shortened(sentences.overall(analysis), 200))}" '
        'font-family="system-ui, sans-serif">'
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#fcfcfa" stroke="#dddfe3"/>'
        + "".join(parts)
        + "</svg>\n"
    )


def _bars(block: TimedBlock, top: int) -> Iterator[str]:
    costs = {row.arm: row.compared(block.case) for row in block.rows if row.standing in ("ranked", "shown")}
    longest = max((cost.value for cost in costs.values() if cost is not None), default=1.0)
    for place, row in enumerate(block.rows[:_MOST_ROWS]):
        y = top + _ROW * place
        cost = costs.get(row.arm)
        yield _text(_EDGE + 126, y + 14, shortened(row.arm, 22), size=12, anchor="end")
        if cost is None:
            yield _text(_EDGE + 136, y + 14, row.standing, size=12, colour="#5a6069")
            continue
        width = max(2.0, 380 * cost.value / longest)
        colour = names.colour_on_white(row.backend)
        yield f'<rect x="{_EDGE + 136}" y="{y + 3}" width="{width:.1f}" height="14" rx="2" fill="{colour}"/>'
        value = units.rate(cost.value) + " items/s" if block.case.per_item else units.time(cost.value)
        yield _text(_EDGE + 142 + width, y + 14, value, size=12)


def _text(
    x: float, y: float, text: str, *, size: int, weight: int = 400, anchor: str = "start", colour: str = "#1a1d21"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{colour}">'
        f"{_xml(text)}</text>"
    )


def _xml(text: str) -> str:
    return escape(printable(text), {'"': "&quot;"})
