"""`levelfield baseline`: name runs, and derive limits for later runs from them."""

from pathlib import Path

import click

from levelfield import terminals
from levelfield.cli import completion
from levelfield.errors import LevelfieldError
from levelfield.options import REPORTS
from levelfield.options.values import PERCENT


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
    count = len(made.runs)
    terminals.say(
        terminals.console(),
        f"The baseline {name} is {count} {'run' if count == 1 else 'runs'}: "
        f"{', '.join(pointer.file for pointer in made.runs)}",
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
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [default: NAME.gate.toml]",
)
@REPORTS
def derive(
    name: str,
    runs_each: int,
    false_alarms: float,
    power: float,
    accept: tuple[str, ...],
    *,
    same_day: bool,
    output: Path | None,
    reports: Path,
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
    demands = gate_runs.Demands(
        runs_each=runs_each, false_alarms=false_alarms, power=power, accept=accept, same_day=same_day
    )
    gate = gate_runs.derive(found, runs, demands)
    target = output or Path(f"{name}.gate.toml")
    write_atomically(target, content(gate))
    gate_runs.show(gate, terminals.console())
    terminals.say(terminals.console(), f"Gate: {target}")
