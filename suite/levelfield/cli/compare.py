"""`levelfield compare`, `baseline` and `history`: runs that were measured before, and what they are compared with."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from levelfield import scenarios, terminals
from levelfield.cli import completion
from levelfield.errors import LevelfieldError
from levelfield.names import plural
from levelfield.options.registry import FORMAT, JSON, MARGIN, MAX_SLOWDOWN, OUTPUT, REPORTS
from levelfield.options.values import PERCENT

if TYPE_CHECKING:
    from levelfield.compare.types import Comparison, Metric


class _Sides(click.Command):
    """A command whose options --old and --new take all runs behind them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat such an option before each run."""
        words: list[str] = []
        side = ""
        for word in args:
            if word.startswith("-"):
                side = word if word in {"--old", "--new"} else ""
            words += [side, word] if side and word != side else [] if side else [word]
        return super().parse_args(ctx, words)


@click.command(cls=_Sides)
@click.argument("runs", nargs=-1, metavar="[OLD NEW]", shell_complete=completion.runs)
@click.option(
    "--old", multiple=True, metavar="RUN", shell_complete=completion.runs, help="The runs of the old side: --old A B C."
)
@click.option(
    "--new", multiple=True, metavar="RUN", shell_complete=completion.runs, help="The runs of the new side: --new D E F."
)
@click.option("--baseline", metavar="NAME", help="Use this baseline as the old side; all runs named are new.")
@click.option(
    "--gate",
    "gate_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Compare with the limits of this file, which `baseline derive` wrote; all runs named are new, one is enough.",
)
@MAX_SLOWDOWN
@MARGIN
@click.option(
    "--metric",
    type=click.Choice(scenarios.NAMES),
    multiple=True,
    metavar="SCENARIO",
    help=f"Only this scenario ({', '.join(scenarios.NAMES)}). May be repeated.",
)
@click.option(
    "--only", multiple=True, metavar="GLOB", help="Only matching results, such as 'onnxruntime/*'. May be repeated."
)
@FORMAT
@JSON
@OUTPUT
@REPORTS
def compare(
    runs: tuple[str, ...],
    old: tuple[str, ...],
    new: tuple[str, ...],
    baseline: str | None,
    gate_file: Path | None,
    max_slowdown: float | None,
    margin: float,
    metric: "tuple[Metric, ...]",
    only: tuple[str, ...],
    format_: str | None,
    *,
    as_json: bool,
    output: tuple[Path, ...],
    reports: Path,
) -> None:
    """Compare runs: speed, memory, numerical results and environment.

    A run is named by its id, its folder or its page. One run per side shows what changed in the environment and
    whether outputs changed: `compare OLD NEW`. Speed is compared from three runs per side: `compare --old A B C --new D
    E F`; with a gate from one new run: `compare --gate FILE NEW`.

    Exit codes: 0 nothing is worse; 1 something is worse, fails or is no longer equal; 2 could not compare; 3 not
    decided.
    """
    from levelfield.compare import baselines, sides
    from levelfield.compare.comparison import compare_runs
    from levelfield.compare.rows import Selection
    from levelfield.compare.types import Gate
    from levelfield.compatibility import gate as cuda

    if as_json and format_ is not None:
        raise click.UsageError("--json is --format json: leave one of them out.")
    format_ = "json" if as_json else format_
    targets = formats_of(output, format_, hint=" Or say which with --format.")
    if gate_file is not None and baseline is not None:
        raise click.UsageError("A gate names its own baseline: leave --baseline out.")
    option = "--gate FILE" if gate_file is not None else "--baseline NAME" if baseline is not None else ""
    before, after = ([sides.find(name, reports) for name in side] for side in _sides(runs, old, new, option=option))
    gate = Gate(margin=margin, max_slowdown=max_slowdown)
    if baseline is not None:
        before = baselines.records(baselines.read(baseline, reports), reports)
    label = f"baseline {baseline}" if baseline is not None else ""
    first, loaded = sides.load_all(before), sides.load_all(after)
    if gate_file is not None:
        from levelfield.compare import gate_runs

        first, gate, label = gate_runs.with_gate(gate_file, loaded, reports, gate)
    sides.check_measured_once((*first, *loaded))
    found = compare_runs(
        first, loaded, gate=gate, selection=Selection(only=only, metrics=metric), labels=(label, ""), table=cuda.read()
    )
    end(found, targets, format_)


def end(found: "Comparison", targets: Iterable[tuple[Path, str]], format_: str | None) -> NoReturn:
    from levelfield.compare.formats import WRITERS, terminal

    write(found, targets)
    if format_ in (None, "terminal") or targets:
        terminal.show(found, terminals.console())
    else:
        terminals.write(WRITERS[format_](found))
    sys.exit(found.exit_code)


def _sides(
    runs: tuple[str, ...], old: tuple[str, ...], new: tuple[str, ...], *, option: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the runs of the old and the new side; with an `option` that names the old one, all are new."""
    if option:
        if old or not (runs or new):
            raise click.UsageError(f"With {option.partition(' ')[0]}, name the new runs alone: compare {option} NEW.")
        return (), (*runs, *new)
    if len(runs) not in (0, 2):
        raise click.UsageError(
            f"Two runs are compared by their order, and {len(runs)} {'was' if len(runs) == 1 else 'were'} named. Name "
            "the sides: compare --old A B C --new D E F."
        )
    before, after = (*runs[:1], *old), (*runs[1:], *new)
    if not before or not after:
        raise click.UsageError("Name the old and the new side: compare OLD NEW.")
    return before, after


def formats_of(
    paths: Iterable[Path], default: str | None = None, *, hint: str = "", suffixes: Mapping[str, str] | None = None
) -> list[tuple[Path, str]]:
    """Return each file to write with its format.

    `default`: format of a file whose suffix names none; None: there is no default. `suffixes`: ending of a file to its
    format; None: those of a comparison. Raises click.UsageError: a suffix names no format, and there is no default.
    """
    from levelfield.compare.formats import SUFFIXES

    known = SUFFIXES if suffixes is None else suffixes
    targets = []
    for path in paths:
        found = known.get(path.suffix.lower(), default)
        if found is None:
            raise click.UsageError(f"The ending of {path} names no format: {', '.join(known)}.{hint}")
        targets.append((path, found))
    return targets


def write(found: "Comparison", targets: Iterable[tuple[Path, str]]) -> None:
    from levelfield.compare.formats import WRITERS
    from levelfield.record.files import write_atomically

    for path, name in targets:
        write_atomically(path, WRITERS[name](found).encode("utf-8", "replace"), named=True)
        terminals.say(terminals.console(stderr=True), f"Written: {path}")


@click.group()
def baseline() -> None:
    """Name runs, to compare later runs with them."""


@baseline.command(name="set")
@click.argument("name")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=completion.runs)
@REPORTS
def set_(name: str, runs: tuple[str, ...], reports: Path) -> None:
    """Define the baseline NAME as one or more runs.

    An existing baseline of that name is replaced.
    """
    from levelfield.compare import baselines, sides

    made = baselines.define(name, [sides.find(run, reports) for run in runs], reports)
    terminals.say(
        terminals.console(),
        f"The baseline {name} is {plural(len(made.runs), 'run')}: {', '.join(pointer.file for pointer in made.runs)}",
    )


@baseline.command(name="list")
@REPORTS
def list_(reports: Path) -> None:
    """List the baselines, and whether their runs are unchanged."""
    from levelfield.compare import baselines, phrases

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


@baseline.command()
@click.argument("name")
@click.option(
    "--runs-each",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="New runs that the limits in the file are for; `compare --gate` works out those of any number.",
)
@click.option(
    "--false-alarms",
    type=PERCENT,
    default="1%",
    show_default=True,
    help="Share of comparisons without a change in which any case is called worse.",
)
@click.option(
    "--power",
    type=PERCENT,
    default="90%",
    show_default=True,
    help="Probability of finding the smallest change that is named.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="GLOB",
    help="A difference between the runs that does not matter, such as 'Kernel: *'. May be repeated.",
)
@click.option(
    "--same-day", is_flag=True, help="Later runs are made on the day of these: accept runs of fewer than three days."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [default: NAME.gate.toml]"
)
@REPORTS
def derive(
    name: str,
    *,
    output: Path | None,
    reports: Path,
    **demands: Any,  # noqa: ANN401  (each option has a type of its own)
) -> None:
    """Derive a gate from the noise of the baseline NAME.

    Its runs must be of the same thing on one machine, three at least, of three days or more. For every case the file
    says how far runs lie apart, the limit above which later runs are worse, and the smallest change that would be
    found. `levelfield compare --gate FILE NEW` applies it.
    """
    from levelfield.compare import baselines, gate_runs, sides
    from levelfield.compare.gate import content
    from levelfield.record.files import write_atomically

    found = baselines.read(name, reports)
    runs = sides.load_all(baselines.records(found, reports))
    gate = gate_runs.derive(found, runs, gate_runs.Demands(**demands))
    target = output or Path(f"{name}.gate.toml")
    write_atomically(target, content(gate), named=True)
    gate_runs.show(gate, terminals.console())
    terminals.say(terminals.console(), f"Gate: {target}")


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
    from levelfield.compare import sides, trend, trend_show
    from levelfield.report.tables import text

    console = terminals.console(stderr=as_json)
    if not reports.is_dir():
        raise LevelfieldError(
            f"There is no folder {reports} with runs.",
            fix="Measure some (`levelfield bench`), or name it with --reports.",
        )
    found, skipped = summaries.read_all(
        reports, lambda line: terminals.show(console, [text(line, "dim")]), sides.check_agreement
    )
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
