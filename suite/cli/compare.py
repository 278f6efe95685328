"""`levelfield compare` and `levelfield baseline`, as people type them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suite import scenarios
from suite.cli.options import PERCENT
from suite.errors import LevelfieldError
from suite.safety import terminals

if TYPE_CHECKING:
    from suite.compare.types import Comparison, Metric

_reports = click.option(
    "--reports",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    show_default=True,
    help="Where runs and baselines are.",
)


@click.command()
@click.argument("runs", nargs=-1, metavar="OLD NEW")
@click.option("--old", multiple=True, metavar="RUN", help="A run of the old side; may stand several times.")
@click.option("--new", multiple=True, metavar="RUN", help="A run of the new side; may stand several times.")
@click.option("--baseline", metavar="NAME", help="The old side is this baseline; all runs named are new.")
@click.option("--max-slowdown", type=PERCENT, default=None, help="Only more than this is a regression: 3%.")
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@click.option(
    "--metric",
    type=click.Choice(scenarios.NAMES),
    multiple=True,
    help="Only this; may stand several times.",
)
@click.option("--only", multiple=True, metavar="GLOB", help="Only results such as 'onnxruntime/*'; several times.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "markdown", "junit", "json", "html"]),
    default=None,
    help="What is printed; or the format of --output, where its ending does not tell.",
)
@click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to a file as well: .md, .xml (JUnit), .json, .html or .txt; several times.",
)
@_reports
def compare(
    runs: tuple[str, ...],
    old: tuple[str, ...],
    new: tuple[str, ...],
    baseline: str | None,
    max_slowdown: float | None,
    margin: float,
    metric: "tuple[Metric, ...]",
    only: tuple[str, ...],
    format_: str | None,
    output: tuple[Path, ...],
    reports: Path,
) -> None:
    """Say what got slower, hungrier or numerically different from OLD to NEW, and what changed around it.

    A run is named by its id, its folder or its run.json. One run a side shows what changed and whether answers moved;
    speed is judged from three runs a side on: `compare A1 B1 --old A2 --old A3 --new B2 --new B3`.

    Exit codes: 0 nothing is worse; 1 something is worse, fails or is not equal any more; 2 could not compare;
    3 could not be decided.
    """
    from suite.compare import baselines, sides
    from suite.compare.comparison import compare_runs
    from suite.compare.formats import terminal
    from suite.compare.rows import Selection
    from suite.compare.types import Gate
    from suite.compatibility import table

    targets = [(path, _format_of(path, format_)) for path in output]
    before, after = _sides(runs, old, new, baseline=baseline is not None)
    kept = baselines.records(baselines.read(baseline, reports), reports) if baseline is not None else []
    records = [*kept, *(sides.find(name, reports) for name in before)], [sides.find(name, reports) for name in after]
    found = compare_runs(
        sides.load_all(records[0]),
        sides.load_all(records[1]),
        gate=Gate(margin=margin, max_slowdown=max_slowdown),
        selection=Selection(only=only, metrics=metric),
        labels=(f"baseline {baseline}" if baseline is not None else "", ""),
        table=table.read(),
    )
    _write(found, targets)
    if format_ in (None, "terminal") or targets:
        terminal.show(found, terminals.console())
    else:
        from suite.compare.formats import WRITERS

        terminals.write(WRITERS[format_](found))
    sys.exit(found.exit_code)


def _sides(
    runs: tuple[str, ...], old: tuple[str, ...], new: tuple[str, ...], *, baseline: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sort what was typed into the two sides."""
    if baseline:
        if old or not (runs or new):
            raise click.UsageError("With --baseline, name the new runs alone: compare --baseline NAME NEW.")
        return (), (*runs, *new)
    if len(runs) not in (0, 2):
        raise click.UsageError(
            f"{len(runs)} runs were named where OLD and NEW belong. Several a side are --old RUN and --new RUN."
        )
    before, after = (*runs[:1], *old), (*runs[1:], *new)
    if not before or not after:
        raise click.UsageError("Name the old and the new side: compare OLD NEW.")
    return before, after


def _format_of(path: Path, requested: str | None) -> str:
    from suite.compare.formats import SUFFIXES

    found = SUFFIXES.get(path.suffix.lower(), requested)
    if found is None:
        raise click.UsageError(
            f"The ending of {path} names no format: {', '.join(SUFFIXES)}. Or say which with --format."
        )
    return found


def _write(found: "Comparison", targets: list[tuple[Path, str]]) -> None:
    from suite.compare.formats import WRITERS
    from suite.record.files import write_atomically

    for path, name in targets:
        write_atomically(path, WRITERS[name](found).encode("utf-8", "replace"))


@click.group()
def baseline() -> None:
    """Keep runs under a name, to compare later ones with."""


@baseline.command(name="set")
@click.argument("name")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_reports
def set_(name: str, runs: tuple[str, ...], reports: Path) -> None:
    """Let NAME stand for one run or several; an older baseline of that name is forgotten."""
    from suite.compare import baselines, sides

    made = baselines.define(name, [sides.find(run, reports) for run in runs], reports)
    count = len(made.runs)
    terminals.say(
        terminals.console(),
        f"The baseline {name} is {count} {'run' if count == 1 else 'runs'}: "
        f"{', '.join(pointer.file for pointer in made.runs)}",
    )


@baseline.command(name="list")
@_reports
def list_(reports: Path) -> None:
    """Show the baselines that there are, and whether their runs are still what they were."""
    from suite.compare import baselines, phrases

    console = terminals.console()
    found = baselines.all_of(reports)
    if not found:
        console.print("There are no baselines. `levelfield baseline set NAME RUN` makes one.", highlight=False)
    for each in found:
        try:
            baselines.records(each, reports)
            state = "unchanged"
        except LevelfieldError as error:
            state = error.message
        names = ", ".join(pointer.file for pointer in each.runs)
        terminals.say(console, phrases.clean(f"{each.name}  set {each.set_at}  {names}  {state}", 1000))
