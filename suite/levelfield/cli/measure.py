"""`levelfield bench`, `ab` and `explain`: what measures on this machine, now."""

import codecs
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import click
from rich.markup import escape

from levelfield import terminals
from levelfield.cli import completion
from levelfield.cli.compare import formats_of, write
from levelfield.cli.help import SectionedCommand
from levelfield.errors import LevelfieldError, printable
from levelfield.options import registry as options
from levelfield.record.files import named_file


@click.command(cls=SectionedCommand)
@options.selection
@options.BACKENDS
@options.CONTROL
@options.UNTIL
@options.SO_FAR
@options.RESUME
@options.SEED
@options.STRICT
@options.DATA
@options.TARGET
@options.LOADGEN
@options.PRICE
@options.DRY_RUN
@options.YES
@options.JSON
def bench(*, as_json: bool, **values: Any) -> None:  # noqa: ANN401  (each option has a type of its own)
    """Measure backends on the same models, and write a report.

    Missing images are built first.
    """
    from levelfield.run.bench import run_bench
    from levelfield.run.options import options_of

    folder, code = run_bench(options_of(values), terminals.console(stderr=as_json))
    if as_json:
        from levelfield.analysis import guarded
        from levelfield.cli.json import measured, print_json
        from levelfield.record import files

        print_json(measured(guarded.read(folder / files.NAME), code))
    sys.exit(code)


@click.command(cls=SectionedCommand)
@click.argument("a", shell_complete=completion.arm)
@click.argument("b", shell_complete=completion.arm)
@options.selection
@options.MAX_SLOWDOWN
@options.Option(
    "--bisect", section=options.ARMS, is_flag=True, help="Find the package in the two locks that makes the difference."
)
@options.Option(
    "--why",
    section=options.ARMS,
    is_flag=True,
    help="Profile both arms where they differ most, and list the operators whose time changed.",
)
@options.OUTPUT
@options.RESUME.but(help="Continue a run of these arms that was interrupted or ended without a verdict.")
@options.SEED
@options.DRY_RUN
@options.YES
@options.JSON
def ab(
    a: str,
    b: str,
    *,
    max_slowdown: float | None,
    bisect: bool,
    why: bool,
    output: tuple[Path, ...],
    as_json: bool,
    **values: Any,  # noqa: ANN401  (each option has a type of its own)
) -> None:
    """Compare A with B, interleaved in one run on this machine.

    A and B are arms: a backend, optionally with a version, variant or settings, such as onnxruntime,
    onnxruntime@1.30.0 or onnxruntime+spinning=off. Name the same arm twice to see what no difference looks like on this
    machine. Compare onnxruntime with onnxruntime+launcher=venv to see what the container costs.

    The run ends as soon as every case has a verdict, or with --precision-target when every ratio is known so well.

    Exit codes: 0 B is not worse; 1 B is worse, fails or is not equal; 2 could not run; 3 not decided.
    """
    from levelfield.compare.formats import json
    from levelfield.compare.types import Gate
    from levelfield.run.ab import measure, show
    from levelfield.run.options import options_of

    targets = formats_of(output)
    chosen = options_of({**values, "control": "none"})
    gate = Gate(margin=values["margin"], max_slowdown=max_slowdown)
    console = terminals.console(stderr=as_json)
    if bisect:
        from levelfield.run.bisect import run_bisection, show_conclusion

        bisection = run_bisection(a, b, chosen, gate, console)
        answer, code = bisection.overall, show_conclusion(bisection, console)
    else:
        answer = measure(a, b, chosen, gate, console)
        code = show(answer, console, measured=True)
    if why:
        from levelfield.run import why as explained

        explained.show(explained.explain(answer, chosen, console), answer, console)
    write(answer.comparison, targets)
    if as_json:
        terminals.write(json.write(answer.comparison))
    sys.exit(code)


@click.command()
@click.argument("cases", nargs=-1, required=True, metavar="CASE…")
@click.option(
    "--by-layer", is_flag=True, help="One row for each operator of the model; default: for each kind of operator."
)
@click.option("--top", type=click.IntRange(0), default=15, help="Rows of a table on the terminal; 0: all.")
@options.JSON
@options.CSV
@options.CPUS
@options.LAUNCHER
@options.BASE
def explain(
    cases: tuple[str, ...],
    by_layer: bool,
    top: int,
    *,
    as_json: bool,
    csv_file: str | None,
    cpus: tuple[int, ...] | Literal["all"],
    launcher: str | None,
    base: Literal["debian", "registry"],
) -> None:
    """Profile a result by operator, with the framework's own profiler.

    The columns are the same for every framework. A CASE is the id of a result in reports, such as
    onnxruntime/resnet50/latency/fp32/b1/t2/cpu; the parts after the model are optional. It is launched, pinned and
    loaded as in `bench`. The profile is of this new launch, not of an earlier run.
    """
    from levelfield.launchers.needs import choose
    from levelfield.report.export import write_csv
    from levelfield.report.progress import opened
    from levelfield.run import explain as profiler

    if as_json and csv_file == "-":
        raise click.UsageError("Either JSON or CSV can go to the terminal, not both.")
    requested = list({each.id: each for each in (profiler.parse(case, cpus) for case in cases)}.values())
    progress = terminals.console(stderr=True)
    chosen, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    chosen.sweep()
    console = terminals.console(stderr=as_json)
    found: list[profiler.Explained] = []
    failed: dict[str, LevelfieldError] = {}
    for each in requested:
        try:
            with opened(progress) as listener:
                found.append(profiler.explain(each, chosen, listener))
        except LevelfieldError as error:
            if len(requested) == 1:
                raise
            failed[each.id] = error
            progress.print(f"[bold red]{escape(printable(str(error)))}[/]", highlight=False, soft_wrap=True)
            continue
        if csv_file != "-":
            profiler.show(found[-1], console, by_layer=by_layer, top=top)
    if as_json:
        from levelfield.cli.json import print_json, profiles

        print_json(profiles(found, failed, by_layer=by_layer))
    if csv_file is not None:
        with nullcontext() if csv_file == "-" else named_file(Path(csv_file)) as file:
            stream = codecs.getwriter("utf-8")(file) if file else terminals.PrintableText(sys.stdout)
            write_csv(stream, profiler.COLUMNS, profiler.as_rows(found, by_layer=by_layer))
    sys.exit(2 if failed else 0)
