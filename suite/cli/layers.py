"""`levelfield layers`: a digest of what every layer puts out, and the first one in which two machines differ."""

import sys
from pathlib import Path
from typing import Literal

import click
from rich.markup import escape

from suite.cli.options import BASE, CPUS, LAUNCHER
from suite.errors import printable
from suite.safety import terminals

_EXIT = {"same": 0, "different": 1, "not comparable": 2}


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="CASE | FILE FILE")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("layers.json"), help="File to write."
)
@click.option("--launches", type=click.IntRange(1, 16), default=2, help="Fresh workers that compute it.")
@CPUS
@LAUNCHER
@BASE
def layers(
    what: tuple[str, ...],
    output: Path,
    launches: int,
    cpus: tuple[int, ...] | Literal["all"],
    launcher: str | None,
    base: Literal["debian", "registry"],
) -> None:
    """Digest what every layer of a result puts out, or find the first layer that differs between two such files.

    A CASE is the id of a result in reports, such as onnxruntime/resnet50/latency/fp32/b1/t2/cpu; the parts after the
    model are optional. Fresh workers compute its answer once more, first as in a run, then layer by layer. Write one
    file on each of two machines with the same image and like hardware, and compare the files.

    Exit codes: 0 the file is written, or two files are the same; 1 they differ; 2 neither could be done.
    """
    if len(what) == 2 and all(each.endswith(".json") for each in what):
        sys.exit(_compare(Path(what[0]), Path(what[1])))
    if len(what) != 1:
        raise click.UsageError("Name one CASE, or two files that end in .json.")
    from suite.launchers.choice import choose
    from suite.record import layers as record
    from suite.report.progress import opened
    from suite.run.explain import request
    from suite.run.layers import trace

    requested = request.parse(what[0], cpus)
    progress, console = terminals.console(stderr=True), terminals.console()
    chosen, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    chosen.sweep()
    with opened(progress) as listener:
        found = trace(requested, chosen, listener, launches=launches)
    record.write(found, output)
    for each in found.launches[0].layers:
        console.print(f"{each.sha256[:12]}  {printable(each.name)}", markup=False, highlight=False, soft_wrap=True)
    terminals.say(console, found.how)
    whole = len({launch.output_sha256 for launch in found.launches})
    agree = "all launches agree" if whole == 1 else f"{whole} different ones"
    terminals.say(console, f"Output of the whole model in {launches} launches: {agree}.")
    terminals.say(console, f"Written: {output}")


def _compare(first: Path, second: Path) -> int:
    from suite.compare.layers import compare
    from suite.record import layers as record

    found = compare(record.read(first, str(first)), record.read(second, str(second)), (str(first), str(second)))
    terminals.say(terminals.console(), found.answer)
    return _EXIT[found.state]
