"""`levelfield history`: the trend of a result over runs, and what changed with it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from levelfield import terminals
from levelfield.options.registry import JSON, MARGIN, REPORTS

if TYPE_CHECKING:
    from levelfield.compare.trend import Runs, Series, Trends

_MOST_SERIES = 12
"""Most series that are shown in full; more are only listed."""


@click.command()
@click.argument("case", required=False)
@REPORTS
@click.option(
    "--labelled",
    is_flag=True,
    help="Include runs that are not results: smoke runs, injected slowdowns, demonstrations.",
)
@MARGIN
@click.option("--last", type=click.IntRange(1), default=30, help="Number of runs to list.")
@JSON
def history(case: str | None, reports: Path, *, labelled: bool, margin: float, last: int, as_json: bool) -> None:
    """Show the trend of CASE over runs.

    CASE is the id of a result, a part of it, or a pattern such as 'onnxruntime/*/latency/*'. Without CASE, all results
    are listed.
    """
    from levelfield.analysis import summaries
    from levelfield.compare import trend_show
    from levelfield.compare.trend import in_order
    from levelfield.errors import LevelfieldError

    console = terminals.console(stderr=as_json)
    if not reports.is_dir():
        raise LevelfieldError(
            f"There is no folder {reports} with runs.",
            fix="Measure some (`levelfield bench`), or name it with --reports.",
        )
    found, skipped = summaries.read_all(
        reports, lambda text: console.print(trend_show.note(text), highlight=False, markup=False)
    )
    trend_show.print_parts(
        console, [trend_show.note(f"{one.folder} is left out: {one.reason}", "yellow") for one in skipped]
    )
    runs = in_order(found)
    if as_json:
        from levelfield.cli.json import print_json

        print_json(_trends(runs, case, labelled=labelled, margin=margin))
    elif case is not None:
        _show(runs, case, console, labelled=labelled, margin=margin, last=last)
    else:
        _list(runs, console, labelled=labelled)


def _show(runs: "Runs", case: str, console: Console, *, labelled: bool, margin: float, last: int) -> None:
    from rich.text import Text

    from levelfield.compare import trend, trend_show

    found = _matching(runs, case, labelled=labelled)
    if len(found) > _MOST_SERIES:
        trend_show.print_parts(
            console, [*trend_show.overview(found), trend_show.note("Several match; name one to see its trend.")]
        )
        return
    for one in found:
        judged = trend.find_trend(one, margin=margin)
        trend_show.print_parts(
            console, [Text(), *trend_show.heading(one, judged), trend_show.table(one, judged, last=last)]
        )
        for change in reversed(judged.changes):
            differing = trend.environment_differences(runs, one.points[change.before], one.points[change.at], one)
            trend_show.print_parts(console, trend_show.change(one, change, differing))
    trend_show.print_parts(console, [trend_show.rule(margin)])


def _matching(runs: "Runs", case: str, *, labelled: bool) -> "list[Series]":
    from levelfield.compare import trend
    from levelfield.errors import LevelfieldError

    names = trend.matching(case, trend.results(runs))
    found = trend.series(runs, names, labelled=labelled)
    if not found:
        raise LevelfieldError(
            "All matching runs are labelled (smoke, injected or a demonstration), so they are not results.",
            fix="Show them with --labelled.",
        )
    return found


def _trends(runs: "Runs", case: str | None, *, labelled: bool, margin: float) -> "Trends":
    from levelfield.compare import trend

    if case is None:
        found = trend.series(runs, trend.results(runs), labelled=labelled)
    else:
        found = _matching(runs, case, labelled=labelled)
    return trend.trends(runs, found, margin=margin)


def _list(runs: "Runs", console: Console, *, labelled: bool) -> None:
    from levelfield.compare import trend, trend_show

    found = trend.series(runs, trend.results(runs), labelled=labelled)
    none = [trend_show.note("The history holds no runs that are results yet.")]
    trend_show.print_parts(console, list(trend_show.overview(found)) or none)
