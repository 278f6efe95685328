"""`levelfield explain CASE…`: the framework's own operator profile of a result."""

import sys
from pathlib import Path
from typing import Literal

import click
from rich.markup import escape

from suite.cli.options import BASE, LAUNCHER
from suite.errors import LevelfieldError, printable
from suite.safety import terminals


@click.command()
@click.argument("cases", nargs=-1, required=True, metavar="CASE…")
@click.option("--by-layer", is_flag=True, help="One row for each operator of the model, not for each kind.")
@click.option(
    "--top", type=click.IntRange(0), default=15, show_default=True, help="Rows of a table on the terminal; 0: all."
)
@click.option("--json", "json_file", metavar="FILE", default=None, help="Write JSON there; - is the terminal.")
@click.option("--csv", "csv_file", metavar="FILE", default=None, help="Write CSV there; - is the terminal.")
@LAUNCHER
@BASE
def explain(
    cases: tuple[str, ...],
    by_layer: bool,
    top: int,
    json_file: str | None,
    csv_file: str | None,
    launcher: str | None,
    base: Literal["debian", "registry"],
) -> None:
    """Show where a result's time goes, by the framework's own profiler, in the same columns for every framework.

    A CASE is what reports call a result: onnxruntime/resnet50/latency/fp32/b1/t2/cpu. What stands behind the model may
    be left out. It is launched, pinned and loaded as in `bench`; the profile is of that launch, not of a run that was.
    """
    from suite.launchers.choice import choose
    from suite.report.export.writing import write_csv
    from suite.report.progress import Terminal
    from suite.run.explain import measure, request, show

    if json_file == csv_file == "-":
        raise click.UsageError("Either JSON or CSV can go to the terminal.")
    wanted = list({each.id: each for each in map(request.parse, cases)}.values())
    progress = terminals.console(stderr=True)
    place, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    place.sweep()
    console = terminals.console()
    found: list[measure.Explained] = []
    failed: dict[str, LevelfieldError] = {}
    for each in wanted:
        try:
            with Terminal(progress) as listener:
                found.append(measure.explain(each, place, listener))
        except LevelfieldError as error:
            if len(wanted) == 1:
                raise
            failed[each.id] = error
            progress.print(f"[bold red]{escape(printable(str(error)))}[/]", highlight=False, soft_wrap=True)
            continue
        if "-" not in {json_file, csv_file}:
            show.show(found[-1], console, by_layer=by_layer, top=top)
    if json_file is not None:
        _write(json_file, show.as_json(found, failed, by_layer=by_layer).decode())
    if csv_file == "-":
        write_csv(sys.stdout, show.COLUMNS, show.as_rows(found, by_layer=by_layer))
    elif csv_file is not None:
        with Path(csv_file).open("w", encoding="utf-8", newline="") as stream:
            write_csv(stream, show.COLUMNS, show.as_rows(found, by_layer=by_layer))
    sys.exit(2 if failed else 0)


def _write(target: str, text: str) -> None:
    if target == "-":
        sys.stdout.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")
