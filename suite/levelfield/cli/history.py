"""`levelfield history`: the trend of a result over runs, and what changed with it."""

from pathlib import Path

import click

from levelfield import terminals
from levelfield.options.registry import JSON, MARGIN, REPORTS

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
    from levelfield.compare import trend, trend_show
    from levelfield.errors import LevelfieldError
    from levelfield.report.tables import text

    console = terminals.console(stderr=as_json)
    if not reports.is_dir():
        raise LevelfieldError(
            f"There is no folder {reports} with runs.",
            fix="Measure some (`levelfield bench`), or name it with --reports.",
        )
    found, skipped = summaries.read_all(reports, lambda line: terminals.show(console, [text(line, "dim")]))
    terminals.show(console, (text(f"{one.folder} is left out: {one.reason}", "yellow") for one in skipped))
    runs = trend.in_order(found)
    results = trend.results(runs)
    chosen = trend.series(runs, results if case is None else trend.matching(case, results), labelled=labelled)
    if case is not None and not chosen:
        raise LevelfieldError(
            "All matching runs are labelled (smoke, injected or a demonstration), so they are not results.",
            fix="Show them with --labelled.",
        )
    if as_json:
        from levelfield.cli.json import print_json

        print_json(trend.trends(runs, chosen, margin=margin))
    elif not chosen:
        terminals.show(console, [text("The history holds no runs that are results yet.", "dim")])
    elif case is not None and len(chosen) <= _MOST_SERIES:
        terminals.show(console, trend_show.shown(trend.trends(runs, chosen, margin=margin), last=last))
    else:
        terminals.show(console, trend_show.overview(chosen))
        if case is not None:
            terminals.show(console, [text("Several match; name one to see its trend.", "dim")])
