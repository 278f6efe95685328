"""`levelfield reproduce REPORT`: repeat a report's run on this machine, and compare each result."""

import hashlib
import sys
from pathlib import Path

import click
import msgspec

from levelfield.cli.answers.printing import JSON, print_json
from levelfield.cli.options import BUDGET, PERCENT, REPORTS
from levelfield.errors import LevelfieldError
from levelfield.safety import terminals

NAME = "reproduction.json"


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--trust", is_flag=True, help="Run although images here differ from those of the report.")
@click.option("--dry-run", is_flag=True, help="Show what would be built and run, then exit.")
@click.option(
    "--model",
    "own",
    metavar="FILE.onnx",
    type=click.Path(path_type=Path),
    help="The author's own ONNX file, if it is not here yet.",
)
@click.option(
    "--module",
    metavar="FILE.py:FUNCTION",
    help="The author's own network in Python, if it is not here yet; it is run in containers alone.",
)
@click.option(
    "--weights",
    metavar="FOLDER",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The author's own weights, if they are not here yet; their digest must match.",
)
@click.option(
    "--allowed",
    type=PERCENT,
    default="10%",
    help="Allowed relative difference; a result is reproduced if its whole interval lies inside.",
)
@click.option(
    "--data",
    metavar="[SET=]PATH",
    multiple=True,
    help="The images of the training, if they were the author's own, or a data set that was answered "
    "(imagenet=FOLDER); their digest must match. May be repeated.",
)
@click.option(
    "--launches",
    type=click.IntRange(1, 1000),
    help="Minimum launches of every arm: more launches make the intervals narrower.",
)
@BUDGET
@click.option(
    "--launcher",
    type=click.Choice(["docker", "venv", "host"]),
    default="docker",
    help="Where to run workers, whatever the report used.",
)
@REPORTS
@JSON
def reproduce(
    report: Path,
    *,
    trust: bool,
    dry_run: bool,
    own: Path | None,
    module: str | None,
    weights: tuple[Path, ...],
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

    Exit codes: 0 reproduced; 1 something differs; 2 could not run; 3 other hardware, or not decided.
    """
    from levelfield.analysis import guarded
    from levelfield.compare.reduction import reduce
    from levelfield.compare.reproduction import judge_reproduction
    from levelfield.plan import make, with_launches
    from levelfield.prepare.evaluation import tasks
    from levelfield.prepare.own_model.request import keep_recorded, keep_recorded_module
    from levelfield.prepare.own_weights import request as own_weights
    from levelfield.record import files
    from levelfield.record.files import write_atomically
    from levelfield.report.units import plural
    from levelfield.run.bench import conduct, finish
    from levelfield.run.reproduce import intent
    from levelfield.run.reproduce.announcement import announced
    from levelfield.run.reproduce.show import foreign, show

    if dry_run and as_json:
        raise click.UsageError("--dry-run shows a plan, which has no JSON: leave --json out.")
    console = terminals.console(stderr=as_json)
    source = guarded.read(report)
    run = source.run
    with guarded.computing(source.name):
        theirs = reduce(run, source.sha256, source.analysis)
    data_sets = tasks.repeat(tasks.read(data, None, run.settings.profile), run.data_sets, needed=False)
    if own is not None:
        keep_recorded(own, run.settings.own)
    if module is not None:
        keep_recorded_module(module, run.settings.own)
    own_weights.keep_recorded(weights, run.settings.own_weights)
    requested = intent.read(run, locked=launcher != "host", budget_seconds=budget_seconds)
    chosen = with_launches(make(requested.selection), launches)
    for line in announced(run, chosen, requested, launcher):
        terminals.say(console, line)
    differing = intent.foreign(run, chosen)
    if differing:
        console.print(foreign(differing), highlight=False, markup=False)
        if not trust and not dry_run:
            raise LevelfieldError(
                f"{plural(len(differing), 'image')} would not be, or cannot be shown to be, what the report was "
                "measured with: it would be another measurement.",
                fix="Use the Levelfield that the report was made with, or go on in spite of it with --trust.",
            )
    for left in run.data_sets:
        if left.task not in {each.task for each in data_sets}:
            terminals.say(console, f"{left.title} is not answered again: --data {left.task}=PATH would name it.")
    if dry_run:
        return
    options = msgspec.structs.replace(
        requested,
        reports=reports,
        launcher=launcher,
        base=intent.bases(run) if launcher == "docker" else "debian",
        data_sets=data_sets,
        expected_data=run.data_sets,
        beside_data=weights,
    )
    folder = conduct(chosen, options, console)
    finish(folder, console)
    content = files.content_of(folder)
    ours = reduce(files.decode(content, str(folder)), hashlib.sha256(content).hexdigest())
    with guarded.computing(source.name):
        found = judge_reproduction(theirs, ours, allowed=allowed)
    console.print()
    show(found, console)
    write_atomically(folder / NAME, msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    terminals.say(console, f"Written: {folder / NAME}")
    if as_json:
        print_json(found)
    sys.exit(found.exit_code)
