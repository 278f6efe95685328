"""`levelfield explain CASE…`: the framework's own operator profile of a result."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, TextIO

import click
from rich.markup import escape

from levelfield.cli.answers.printing import JSON, print_json
from levelfield.cli.options import BASE, CPUS, CSV, LAUNCHER
from levelfield.errors import LevelfieldError, printable
from levelfield.safety import terminals


@click.command()
@click.argument("cases", nargs=-1, required=True, metavar="CASE…")
@click.option(
    "--by-layer", is_flag=True, help="One row for each operator of the model; default: for each kind of operator."
)
@click.option("--top", type=click.IntRange(0), default=15, help="Rows of a table on the terminal; 0: all.")
@JSON
@CSV
@click.option(
    "--trace",
    "trace_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write the profiler's own timeline of one CASE: .json (Perfetto) or .xplane.pb (TensorBoard).",
)
@CPUS
@LAUNCHER
@BASE
def explain(
    cases: tuple[str, ...],
    by_layer: bool,
    top: int,
    *,
    as_json: bool,
    csv_file: str | None,
    trace_file: Path | None,
    cpus: tuple[int, ...] | Literal["all"],
    launcher: str | None,
    base: Literal["debian", "registry"],
) -> None:
    """Profile a result by operator, with the framework's own profiler.

    The columns are the same for every framework. A CASE is the id of a result in reports, such as
    onnxruntime/resnet50/latency/fp32/b1/t2/cpu; the parts after the model are optional. It is launched, pinned and
    loaded as in `bench`. The profile is of this new launch, not of an earlier run.
    """
    from levelfield.cli.answers.explained import profiles
    from levelfield.launchers.choice import choose
    from levelfield.report.export.writing import write_csv
    from levelfield.report.progress import opened
    from levelfield.run import explain, profile_tables

    if as_json and csv_file == "-":
        raise click.UsageError("Either JSON or CSV can go to the terminal, not both.")
    requested = list({each.id: each for each in (explain.parse(case, cpus) for case in cases)}.values())
    if trace_file is not None and len(requested) > 1:
        raise click.UsageError("--trace writes the timeline of one CASE: explain the others in calls of their own.")
    form = explain.trace_format(trace_file, requested[0].arm.backend) if trace_file is not None else None
    progress = terminals.console(stderr=True)
    chosen, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    chosen.sweep()
    console = terminals.console(stderr=as_json)
    found: list[explain.Explained] = []
    failed: dict[str, LevelfieldError] = {}
    for each in requested:
        try:
            with opened(progress) as listener:
                found.append(explain.explain(each, chosen, listener, form))
        except LevelfieldError as error:
            if len(requested) == 1:
                raise
            failed[each.id] = error
            progress.print(f"[bold red]{escape(printable(str(error)))}[/]", highlight=False, soft_wrap=True)
            continue
        if csv_file != "-":
            profile_tables.show(found[-1], console, by_layer=by_layer, top=top)
        if trace_file is not None and form is not None:
            said = explain.write_trace(trace_file, found[-1].profiled.trace, form)
            progress.print(escape(printable(said)), highlight=False, soft_wrap=True)
    if as_json:
        print_json(profiles(found, failed, by_layer=by_layer))
    if csv_file is not None:
        with _open(csv_file) as stream:
            write_csv(stream, profile_tables.COLUMNS, profile_tables.as_rows(found, by_layer=by_layer))
    sys.exit(2 if failed else 0)


def _open(target: str) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if target == "-" else Path(target).open("w", encoding="utf-8", newline="")
