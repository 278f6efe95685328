"""A run as a card: an SVG for a README, and Markdown for a pull request."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.environment import machine_title
from levelfield.analysis.types import RankedBlock, compared
from levelfield.compare import ab as pairs
from levelfield.compare import phrases
from levelfield.compare.formats import html
from levelfield.errors import shortened
from levelfield.record.schema import Run
from levelfield.report import answers, charts, loadgen, names, pages, results, sentences, units
from levelfield.report.tables import Table, in_markdown
from levelfield.terminals import markdown_text as cell

TEMPLATES = Path(__file__).parent / "templates"
INK, WARNING = "#1a1d21", "#7a4f00"
WIDTH = 720
"""Pixels."""
BAR = 300
"""Pixels of the longest bar."""
_MOST_ROWS = 8
_MOST_LINES = 4
_HEADING_CHARACTERS, _TEXT_CHARACTERS, _NAME_CHARACTERS = 76, 94, 24
"""Characters that fit into a line of each kind, for the widest of the usual fonts."""


def markdown(run: Run, analysis: Analysis) -> str:
    """Return the run's verdicts as Markdown: a sentence, then a table for every timed case."""
    return "\n".join(_lines(run, analysis)) + "\n"


def _lines(run: Run, analysis: Analysis) -> Iterator[str]:
    yield f"**{cell(answers.overall(analysis))}**"
    if against := _against(run, analysis):
        yield from ("", cell(against))
    yield ""
    yield cell(f"{sentences.parity(analysis)} {sentences.where_measured(run)} Run {run.id}, {run.started[:10]}.")
    for block in analysis.timed:
        yield from _table(results.timed(block, analysis.timed))
        if block.case.one_by_one:
            yield from ("", sentences.ONE_BY_ONE)
    for trained in analysis.convergence:
        yield from _table(results.trained(trained, analysis.convergence))
    for driven in analysis.loadgen:
        yield from _table(results.driven(driven, analysis.loadgen))
    if analysis.loadgen:
        yield from ("", cell(loadgen.NOT_A_RESULT))


def _against(run: Run, analysis: Analysis) -> str:
    """Return the page's first reservation that is not of answers, which are counted beside it, and how many more."""
    known = [each for each in answers.reservations(run, analysis) if each != sentences.parity(analysis)]
    more = f" {units.plural(len(known) - 1, 'more reservation')} in the report." if known[1:] else ""
    return known[0].replace("below, with what to do", "in the report") + more if known else ""


def _table(found: Table) -> Iterator[str]:
    yield from ("", f"### {cell(found.title)}", "")
    yield from in_markdown(found)


def svg(run: Run, analysis: Analysis) -> str:
    """Return the main result of a run as one picture: bars, or the ratios of the two arms of an `ab`."""
    compared = pairs.of_run(run)
    answer = answers.overall(analysis) if compared is None else phrases.first_line(compared)
    about = f"{sentences.parity(analysis)} {run.started[:10]}, {machine_title(run.machine)}."
    template = pages.templates(TEMPLATES).get_template("card.svg.j2")
    made = template.render(
        label=shortened(answer, 200),
        lines=[
            *((line, 15, 700, INK) for line in _wrapped(answer, _HEADING_CHARACTERS)),
            *((line, 12, 400, WARNING) for line in _wrapped(_against(run, analysis), _TEXT_CHARACTERS)),
            *((line, 12, 400, INK) for line in _wrapped(about, _TEXT_CHARACTERS)),
        ],
        blocks=list(_pictures(analysis)) if compared is None else [],
        ratios=None if compared is None else html.ratio_chart(compared.rows[:_MOST_ROWS], compared.gate.margin),
        margin=None if compared is None else units.percent(compared.gate.margin),
        width=WIDTH,
    )
    return f"{made}\n"


def _wrapped(text: str, characters: int) -> list[str]:
    lines = textwrap.wrap(text, characters)
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} …"]


class Bar(msgspec.Struct, frozen=True):
    """One arm: a bar with its value, or the standing of an arm without numbers; lengths are pixels."""

    arm: str
    value: str
    width: float | None = None
    colour: str = ""
    low: float | None = None
    high: float | None = None
    cut: bool = False
    """Whether the bar is longer than what is drawn."""


class Picture(msgspec.Struct, frozen=True):
    title: str
    better: str
    bars: tuple[Bar, ...]
    left_out: int
    """Arms that are not drawn."""


def _pictures(analysis: Analysis) -> Iterator[Picture]:
    timed = [block for block in analysis.timed if block.case.scenario == "latency"] or analysis.timed[:3]
    for block in timed:
        yield _picture(block, sentences.title(block.case))
    for trained in () if timed else analysis.convergence:
        yield _picture(trained, f"{names.network(trained.case)}, training to {sentences.goal(trained)}")


def _picture(block: RankedBlock, title: str) -> Picture:
    shown = [row for row in block.rows if row.standing != "control"]
    rows = shown[:_MOST_ROWS]
    found = {row.arm: compared(row, block.case)[0] for row in rows if row.standing in ("ranked", "shown")}
    ends = [cost.value if cost.high is None else cost.high for cost in found.values() if cost is not None]
    longest = max(charts.unbroken(ends)) if ends else 1.0
    bars = []
    for row in rows:
        arm, cost = shortened(row.arm, _NAME_CHARACTERS), found.get(row.arm)
        if cost is None:
            bars.append(Bar(arm, row.standing))
            continue
        at, cut = cost.each(lambda value: BAR * min(value / longest, 1.0)), cost.value > longest
        low, high = (None, None) if cut else (at.low, at.high)
        written, colour = sentences.full_cost(row, block), names.colour_on_white(row.backend)
        bars.append(Bar(arm, written, max(2.0, at.value), colour, low, high, cut))
    better = "higher is better" if block.case.per_item else "lower is better"
    return Picture(title, better, tuple(bars), len(shown) - len(rows))
