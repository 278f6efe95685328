"""`levelfield history`: the trend of a result over runs, and what changed with it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from suite.cli.answers.printing import JSON, print_json
from suite.cli.options import MARGIN, REPORTS
from suite.safety import terminals

if TYPE_CHECKING:
    from suite.cli.answers.trends import Trends
    from suite.history.folders import Outcome, Progress
    from suite.history.store import Store
    from suite.history.trend import Series

_MOST_SERIES = 12
"""Most series that are shown in full; more are only listed."""


@click.command()
@click.argument("case", required=False)
@click.option(
    "--store",
    metavar="URL",
    help="Database of the history; default: LEVELFIELD_STORE, or a file in the reports folder.",
)
@REPORTS
@click.option("--rebuild", is_flag=True, help="Rebuild the history from the records in the reports folder.")
@click.option(
    "--labelled",
    is_flag=True,
    help="Include runs that are not results: smoke runs, injected slowdowns, demonstrations.",
)
@MARGIN
@click.option("--last", type=click.IntRange(1), default=30, help="Number of runs to list.")
@JSON
def history(
    case: str | None,
    store: str | None,
    reports: Path,
    *,
    rebuild: bool,
    labelled: bool,
    margin: float,
    last: int,
    as_json: bool,
) -> None:
    """Show the trend of CASE over runs.

    CASE is the id of a result, a part of it, or a pattern such as 'onnxruntime/*/latency/*'. Without CASE, all results
    are listed. A run is added when it ends; runs that were copied into the reports folder are added now.
    """
    from suite.errors import LevelfieldError
    from suite.history import folders
    from suite.history import store as stores

    console = terminals.console(stderr=as_json)
    address, own = stores.address(store, reports), stores.own(store)
    if own and not reports.is_dir():
        raise LevelfieldError(
            f"There is no folder {reports} with runs.",
            fix="Measure some (`levelfield bench`), or name it with --reports.",
        )
    if rebuild:
        _show_added(folders.rebuild(address, reports, _printer(console), own=own), console, rebuilt=True)
    opened = stores.Store(address)
    try:
        if not rebuild:
            _show_added(folders.enter_new(opened, reports, _printer(console)), console, rebuilt=False)
        if as_json:
            print_json(_trends(opened, case, labelled=labelled, margin=margin))
        elif case is not None:
            _show(opened, case, console, labelled=labelled, margin=margin, last=last)
        elif not rebuild:
            _list(opened, console, labelled=labelled)
    finally:
        opened.close()


def _printer(console: Console) -> "Progress":
    from suite.history.show import note

    return lambda text: console.print(note(text), highlight=False, markup=False)


def _show_added(outcome: "Outcome", console: Console, *, rebuilt: bool) -> None:
    """Print which runs were added or left out; nothing if none was."""
    from suite.history.show import note, print_parts
    from suite.report.units import plural

    print_parts(console, [note(f"{one.folder} is left out: {one.reason}", "yellow") for one in outcome.skipped])
    if rebuilt or outcome.entered:
        again = f", {outcome.analysed} of them analysed again" if outcome.analysed else ""
        print_parts(console, [note(f"{plural(outcome.entered, 'run')} added in {outcome.seconds:.1f} s{again}.")])


def _show(store: "Store", case: str, console: Console, *, labelled: bool, margin: float, last: int) -> None:
    from rich.text import Text

    from suite.history import queries, show
    from suite.history.trend import trend

    found = _matching(store, case, labelled=labelled)
    if len(found) > _MOST_SERIES:
        show.print_parts(console, [*show.overview(found), show.note("Several match; name one to see its trend.")])
        return
    for one in found:
        judged = trend(one, margin=margin)
        show.print_parts(console, [Text(), *show.heading(one, judged), show.table(one, judged, last=last)])
        for change in reversed(judged.changes):
            differing = queries.environment_differences(store, one.points[change.before], one.points[change.at], one)
            show.print_parts(console, show.change(one, change, differing))
    show.print_parts(console, [show.rule(margin)])


def _matching(store: "Store", case: str, *, labelled: bool) -> "list[Series]":
    from suite.errors import LevelfieldError
    from suite.history import queries

    names = queries.matching(case, queries.results(store))
    found = queries.series(store, names, labelled=labelled)
    if not found:
        raise LevelfieldError(
            "All matching runs are labelled (smoke, injected or a demonstration), so they are not results.",
            fix="Show them with --labelled.",
        )
    return found


def _trends(store: "Store", case: str | None, *, labelled: bool, margin: float) -> "Trends":
    from suite.cli.answers.trends import trends
    from suite.history import queries

    if case is None:
        found = queries.series(store, queries.results(store), labelled=labelled)
    else:
        found = _matching(store, case, labelled=labelled)
    return trends(store, found, margin=margin)


def _list(store: "Store", console: Console, *, labelled: bool) -> None:
    from suite.history import queries, show

    found = queries.series(store, queries.results(store), labelled=labelled)
    none = [show.note("The history holds no runs that are results yet.")]
    show.print_parts(console, list(show.overview(found)) or none)
