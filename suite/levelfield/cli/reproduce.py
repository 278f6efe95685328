"""`levelfield reproduce REPORT`: repeat a report's run on this machine, and compare each result."""

import hashlib
import sys
from pathlib import Path

import click
import msgspec

from levelfield import terminals
from levelfield.errors import LevelfieldError
from levelfield.options.registry import BUDGET, JSON, LAUNCHER, OWN, REPORTS
from levelfield.options.values import PERCENT

NAME = "reproduction.json"


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--trust", is_flag=True, help="Run although images here differ from those of the report.")
@click.option("--dry-run", is_flag=True, help="Show what would be built and run, then exit.")
@OWN.but(
    help="The author's own ONNX file, FILE.py:FUNCTION or folder of weights, if it is not here yet; its digest must "
    "match. May be repeated."
)
@click.option(
    "--allowed",
    type=PERCENT,
    default="10%",
    help="Allowed relative difference; a result is reproduced if its whole interval lies inside.",
)
@click.option(
    "--data",
    metavar="SET=PATH",
    multiple=True,
    help="A data set that was answered (imagenet=FOLDER); its digest must match. May be repeated.",
)
@click.option(
    "--launches",
    type=click.IntRange(1, 1000),
    help="Minimum launches of every arm: more launches make the intervals narrower.",
)
@BUDGET
@LAUNCHER.but(default="docker", help="Where to run workers, whatever the report used.")
@REPORTS
@JSON
def reproduce(
    report: Path,
    *,
    trust: bool,
    dry_run: bool,
    own: tuple[str, ...],
    allowed: float,
    data: tuple[str, ...],
    launches: int | None,
    budget_seconds: float | None,
    launcher: str,
    reports: Path,
    as_json: bool,
) -> None:
    """Repeat a report's run on this machine, and compare each result.

    REPORT is a report's HTML file, which contains the record, or a run's folder. Its plan is shown first.
    Images are looked up in this checkout. Those that differ from the report's, or that the report does not name, are
    listed, and the command continues only with --trust.

    Exit codes: 0 reproduced; 1 something differs; 2 could not run; 3 not comparable, or not decided.
    """
    from levelfield.analysis import guarded
    from levelfield.analysis.summary import reduce
    from levelfield.compare.formats import WRITERS, terminal
    from levelfield.compare.reproduce import judge_reproduction
    from levelfield.compare.sides import check_agreement
    from levelfield.plan import make, with_launches
    from levelfield.prepare.own_model import python_file
    from levelfield.prepare.own_model import store as own_files
    from levelfield.prepare.own_weights import store as own_weights
    from levelfield.record import files
    from levelfield.record.files import write_atomically
    from levelfield.report.units import plural
    from levelfield.run.bench import conduct, finish
    from levelfield.run.options import own_of
    from levelfield.run.reproduce import announced, bases, foreign, foreign_table, intent, recorded_cases
    from levelfield.schedule import data_sets

    if dry_run and as_json:
        raise click.UsageError("--dry-run shows a plan, which has no JSON: leave --json out.")
    console = terminals.console(stderr=as_json)
    source = guarded.read(report)
    run = source.run
    if not run.blocks:
        raise LevelfieldError(f"{source.name} holds no case that could be measured again.", fix="Name another report.")
    with guarded.computing(source.name):
        theirs = reduce(run, source.sha256, source.analysis)
    requests = data_sets.read(data, run.settings.profile)
    requests = data_sets.repeat(requests, run.data_sets, needed=False)
    named = own_of(own)
    if named.onnx is not None:
        own_files.keep_recorded(named.onnx, run.settings.own)
    if named.function is not None:
        python_file.keep_recorded(named.function, run.settings.own)
    own_weights.keep_recorded(named.weights, run.settings.own_weights)
    requested = intent(run, locked=launcher != "host", budget_seconds=budget_seconds)
    chosen = with_launches(recorded_cases(make(requested.selection), run), launches)
    for line in announced(run, chosen, requested, launcher):
        terminals.say(console, line)
    differing = foreign(run, chosen)
    if differing:
        terminals.show(console, [foreign_table(differing)])
        if not trust and not dry_run:
            raise LevelfieldError(
                f"{plural(len(differing), 'image')} would not be, or cannot be shown to be, what the report was "
                "measured with: it would be another measurement.",
                fix="Use the Levelfield that the report was made with, or go on in spite of it with --trust.",
            )
    if not trust and not dry_run:
        check_agreement(run, source.name)
    for left in run.data_sets:
        if left.task not in {each.task for each in requests}:
            terminals.say(console, f"{left.title} is not answered again: --data {left.task}=PATH would name it.")
    options = msgspec.structs.replace(
        requested,
        reports=reports,
        launcher=launcher,
        base=bases(run) if launcher == "docker" else "debian",
        data_sets=requests,
        expected_data=run.data_sets,
        beside_data=named.weights,
        dry_run=dry_run,
    )
    folder = conduct(chosen, options, console)
    finish(folder, console)
    content = files.content_of(folder)
    ours = reduce(files.decode(content, str(folder)), hashlib.sha256(content).hexdigest())
    with guarded.computing(source.name):
        found = judge_reproduction(theirs, ours, allowed=allowed)
    console.print()
    terminal.show(found, console)
    written = WRITERS["json"](found)
    write_atomically(folder / NAME, written.encode())
    terminals.say(console, f"Written: {folder / NAME}")
    if as_json:
        terminals.write(written)
    sys.exit(found.exit_code)
