"""The result in the terminal: verdict first, then a table a block, then what a reader must know."""

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from suite.analysis import precision, scaling
from suite.analysis.precision import Tradeoff
from suite.analysis.scaling import Scaling
from suite.analysis.types import Analysis, ConvergenceBlock, ConvergenceRow, Row, Standing, TimedBlock
from suite.record.schema import Absent, Run, Warning_
from suite.report import insights, names, sentences, separation, units
from suite.report.separation import IN_THESE_MINUTES

FEW = 4
"""Columns of a table whose headings are not broken."""
NARROW = 110
"""Columns of a terminal below which only ranks, values and leads are shown."""
NARROW_CONVERGENCE = 150
"""The same for the table of time to accuracy, which has more columns."""

GEOMETRIC_MEAN = "geometric mean"
"""Of the launches' times: what the column of times holds."""

INSIGHTS = 3
"""Of each kind, in the terminal."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

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

    Parameters
    ----------
    run, analysis
        A record, and the analysis of it.
    console
        Where to print; its width decides on the columns of tables.
    """
    for part in _parts(run, analysis, columns=console.width):
        console.print(part, highlight=False, markup=False)


def _parts(run: Run, analysis: Analysis, *, columns: int) -> Iterator[RenderableType]:
    narrow = columns < NARROW
    loud = run.settings.launcher != "docker"
    yield Text()
    for name in run.labels:
        yield _text(sentences.label(name), "bold yellow")
    yield _text(sentences.place(run), "bold yellow" if loud else "dim")
    yield _text(sentences.overall(analysis), "bold")
    if sentences.parity(analysis) not in sentences.overall(analysis):
        yield _text(sentences.parity(analysis), _parity_style(analysis))
    if analysis.status.rounds_disturbed:
        yield _text(sentences.disturbed(analysis), "yellow")
    for block in analysis.timed:
        yield Text()
        yield _timed(block, analysis, narrow=narrow)
        yield from _reasons(block)
        absent = sentences.quantiles_absent(block)
        if absent and not narrow and "p90" in _headings(block):
            yield _text(absent, "dim")
        if block.case.one_by_one:
            yield _text(sentences.ONE_BY_ONE, "dim")
        yield _text(sentences.verdict(block, analysis.timed), "dim")
    for trained in analysis.convergence:
        yield Text()
        yield _convergence(trained, analysis, sentences.images(run), narrow=columns < NARROW_CONVERGENCE)
        yield from _reasons(trained)
        yield _text(sentences.convergence(trained, analysis.convergence), "dim")
    if analysis.cold:
        yield Text()
        yield _grid("Cold start: container or interpreter, import, load and first call", _cold(analysis, narrow=narrow))
    if analysis.memory:
        yield Text()
        yield _grid("Peak memory", _memory(analysis))
    for found in precision.summarise(run, analysis):
        yield Text()
        yield _tradeoff(found, narrow=narrow)
    for curves in scaling.summarise(run, analysis):
        yield Text()
        yield _scaling(curves)
    yield from _insights(analysis)
    yield Text()
    for warning in analysis.warnings:
        yield _warning(warning)
    for line in filter(None, (sentences.identical(analysis), sentences.calibrated(run))):
        yield _text(line, "dim")
    yield _text(f"Supervisor during windows: {sentences.supervisor(run.supervisor_window_share)}.", "dim")


def _insights(analysis: Analysis) -> Iterator[Text]:
    """Say the first insights of each kind; all of them are in the report."""
    for section in insights.sections(analysis.insights):
        yield Text()
        yield _text(section.title, "bold")
        yield from (_text(f"• {sentence}") for sentence in section.sentences[:INSIGHTS])
        left = len(section.sentences) - INSIGHTS
        if left > 0:
            yield _text(f"  and {left} more in the report", "dim")


def _text(text: str, style: str = "") -> Text:
    """Make a text without control characters: a record must not control the terminal."""
    return Text(_CONTROL.sub("\ufffd", text), style)


def _parity_style(analysis: Analysis) -> str:
    return "green" if analysis.status.answers_compared == analysis.status.answers_equal else "bold red"


def _table(title: str) -> Table:
    return Table(title=_text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)


def _title(block: TimedBlock, analysis: Analysis) -> str:
    case = block.case
    parts = [names.model(case.model), names.asked(case).lower(), f"batch {case.batch}"]
    return ", ".join([*parts, *sentences.precisions_apart(block, analysis.timed)])


def _timed(block: TimedBlock, analysis: Analysis, *, narrow: bool) -> Table:
    throughput = block.case.per_item
    table = _table(_title(block, analysis))
    extras = _headings(block)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("arm", no_wrap=True)
    table.add_column(_heading("items/s" if throughput else GEOMETRIC_MEAN), justify="right", no_wrap=True)
    table.add_column("behind the best", justify="right", no_wrap=True)
    for name in [] if narrow else extras:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("best is", no_wrap=True)
    for row in block.rows:
        cost = _cost(row, throughput=throughput)
        table.add_row(
            _text("" if row.rank is None else str(row.rank)),
            _text(row.arm),
            _text(cost),
            _behind(row, block),
            *(_text(value) for value in ([] if narrow else _extras(row, block))),
            _text(separation.best_is(row, block)),
            style=None if row.standing in ("ranked", "shown") else "dim",
        )
    return table


def _convergence(block: ConvergenceBlock, analysis: Analysis, images: str, *, narrow: bool) -> Table:
    """Time and steps to the target accuracy, arm by arm."""
    goal = units.accuracy(block.target) if block.target is not None else "the target"
    table = _table(f"{sentences.named(block, analysis.convergence)}, training to {goal} on {images}")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("arm", no_wrap=True)
    for name in (_heading("time"), "behind the best", "steps (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in () if narrow else ("seeds\nthere", "accuracy\nat the end", "step", "load", "peak\nmemory"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("best is", no_wrap=True)
    for row in block.rows:
        extras = [
            f"{row.seeds_reached} of {row.launches}",
            units.NO_VALUE if row.accuracy is None else units.accuracy(row.accuracy),
            units.time(row.step_ns),
            units.time(row.load_ns),
            units.size(row.peak_bytes),
        ]
        table.add_row(
            _text("" if row.rank is None else str(row.rank)),
            _text(row.arm),
            _text(units.time_with_interval(row.time_ns)),
            _behind(row, block),
            _text(units.rate_with_interval(row.steps)),
            *(_text(value) for value in ([] if narrow else extras)),
            _text(separation.best_is(row, block)),
            style=None if row.standing in ("ranked", "shown") else "dim",
        )
    return table


def _behind(row: Row | ConvergenceRow, block: TimedBlock | ConvergenceBlock) -> Text:
    """Say how far a row is behind the best, or what it is instead of ranked."""
    mark, style = _MARKS[row.standing]
    return _text(mark, style) if mark else _text(separation.behind(row, block))


def _cost(row: Row, *, throughput: bool) -> str:
    return units.rate_with_interval(row.items_per_second) if throughput else units.time_with_interval(row.median_ns)


def _heading(name: str) -> str:
    return f"{name}\n95 % {IN_THESE_MINUTES.replace(' ', chr(10), 1)}"


def _headings(block: TimedBlock) -> list[str]:
    if block.case.trains:
        return ["step", "p90", "p99", "CPU", "peak memory"]
    return ["call", "CPU"] if block.case.per_item else ["p90", "p99", "CPU"]


def _extras(row: Row, block: TimedBlock) -> list[str]:
    cpu = units.NO_VALUE if row.cpu_cores is None else f"{row.cpu_cores:.2f}"
    if block.case.trains:
        step = units.time(row.median_ns.value if row.median_ns else None)
        return [step, units.time(row.p90_ns), units.time(row.p99_ns), cpu, units.size(row.peak_bytes)]
    if block.case.per_item:
        return [units.time(row.median_ns.value if row.median_ns else None), cpu]
    return [units.time(row.p90_ns), units.time(row.p99_ns), cpu]


def _reasons(block: TimedBlock | ConvergenceBlock) -> Iterator[Text]:
    """Return why arms are not ranked; a reason that several share is given once."""
    reasons: dict[str, list[str]] = {}
    for row in block.rows:
        if row.reason and row.standing != "control" and row.reason != block.unranked_reason:
            reasons.setdefault(row.reason, []).append(row.arm)
    for reason, arms in reasons.items():
        yield _text(f"{sentences.join(arms)}: {reason}", "dim")


def _tradeoff(found: Tradeoff, *, narrow: bool) -> Table:
    """Speed against accuracy: every arm in every precision, against itself in fp32 and against the reference."""
    case = found.case
    about = [names.model(case.model), names.asked(case).lower(), f"batch {case.batch}"]
    table = _table(f"Speed and accuracy: {', '.join(about)}, {units.plural(case.threads, 'thread')}")
    table.add_column("arm", no_wrap=True)
    table.add_column("precision", no_wrap=True)
    cost = _heading("items/s" if case.per_item else GEOMETRIC_MEAN)
    for name in (cost, "against fp32", "error", *([] if narrow else ["cosine", "same class"])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("" if narrow else "computed in", no_wrap=True)
    for level in found.levels:
        row, parity = level.row, level.row.parity
        marks = "" if narrow or parity is None else parity.computed_in + (" (emulated)" if parity.emulated else "")
        table.add_row(
            _text(row.arm),
            _text(level.precision),
            _text(_cost(row, throughput=case.per_item)),
            _text(units.times(level.speed_up)),
            _text(_known(parity.relative_error, units.error) if parity else units.NO_VALUE),
            *(
                []
                if narrow
                else [
                    _text(_known(parity.cosine, lambda value: units.fixed(value, 4)) if parity else units.NO_VALUE),
                    _text(_known(parity.top_1, units.percent) if parity else units.NO_VALUE),
                ]
            ),
            _text(" ".join(filter(None, (marks, _MARKS[row.standing][0]))), _MARKS[row.standing][1]),
            style=None if row.standing in ("ranked", "shown") else "dim",
        )
    return table


def _known(value: float | Absent, write: Callable[[float], str]) -> str:
    return units.NO_VALUE if isinstance(value, Absent) else write(value)


def _scaling(found: Scaling) -> Table:
    """Speed-up and efficiency by threads or processes."""
    case = found.case
    about = [names.model(case.model), names.asked(case).lower(), case.precision, f"batch {case.batch}"]
    about += [units.plural(case.threads, "thread") + " each"] if found.over == "processes" else []
    table = _table(f"Scaling with {found.over}: {', '.join(about)}")
    table.add_column("arm", no_wrap=True)
    for count in found.counts[1:]:
        table.add_column(f"{count} against {found.counts[0]} (95 %)", justify="right", no_wrap=True)
        table.add_column("efficiency", justify="right", no_wrap=True)
    for curve in found.curves:
        cells: list[Text] = []
        for count in found.counts[1:]:
            point = curve.at(count)
            cells.append(_text(units.times(point.speed_up if point else None)))
            cells.append(_text(units.share_with_interval(point.efficiency if point else None)))
        table.add_row(_text(curve.arm), *cells)
    return table


_Cells: TypeAlias = dict[str, dict[str, str]]
"""Arm to model to the cell's text."""


def _grid(title: str, cells: _Cells) -> Table:
    table = _table(title)
    models = list(dict.fromkeys(model for values in cells.values() for model in values))
    table.add_column("arm", no_wrap=True)
    for model in models:
        table.add_column(_text(model), justify="right", no_wrap=len(models) <= FEW)
    for arm, values in cells.items():
        table.add_row(_text(arm), *(_text(values.get(model, units.NO_VALUE)) for model in models))
    return table


def _cold(analysis: Analysis, *, narrow: bool) -> _Cells:
    cells: _Cells = {}
    for block in analysis.cold:
        for row in block.rows:
            cells.setdefault(row.arm, {})[sentences.named(block, analysis.cold)] = _or_standing(
                row.standing,
                units.time(row.total_ns.value if row.total_ns else None)
                if narrow
                else units.time_with_interval(row.total_ns),
            )
    return cells


def _memory(analysis: Analysis) -> _Cells:
    cells: _Cells = {}
    for block in analysis.memory:
        for row in block.rows:
            cells.setdefault(row.arm, {})[sentences.named(block, analysis.memory)] = _or_standing(
                row.standing, units.size(row.peak_bytes)
            )
    return cells


def _or_standing(standing: Standing, value: str) -> str:
    mark, _ = _MARKS[standing]
    return f"{mark} {value}" if standing == "unequal" else mark or value


def _warning(warning: Warning_) -> Text:
    text = Text().append("Warning: ", "bold yellow")
    if warning.about:
        text.append(_text(f"{warning.about}: "))
    text.append(_text(warning.message))
    if warning.remedy:
        text.append(_text(f"\n  → {warning.remedy}", "dim"))
    return text
