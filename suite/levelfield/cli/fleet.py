"""`levelfield fleet`: which node of a fleet is slow, wrong, noisy or not like the others."""

import sys
from pathlib import Path

import click

from levelfield.cli.compare import formats_of, write
from levelfield.cli.fleet_run import run
from levelfield.cli.fleet_verdict import show
from levelfield.cli.options import MARGIN, MAX_SLOWDOWN, OUTPUT, PERCENT
from levelfield.safety import terminals

_FOLDER = click.Path(path_type=Path)
FALSE_ALARMS = click.option(
    "--false-alarms",
    "level",
    type=PERCENT,
    default="1%",
    help="Probability that any node of a fleet of like nodes is called slow or fast in any case.",
)
FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "markdown", "junit", "json", "html", "openmetrics"]),
    help="Format to print; also that of an --output file with an unknown suffix.",
)
FLEET_OUTPUT = click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the verdict to a file: .md, .xml (JUnit), .json, .html, .txt or .prom (OpenMetrics). May be "
    "repeated.",
)
_HINT = " Or say which with --format."


@click.group()
def fleet() -> None:
    """Judge the nodes of a fleet: the same run on every node, each compared with nodes of like hardware."""


fleet.add_command(run)


@fleet.command()
@click.argument("folder", type=_FOLDER)
@MARGIN
@FALSE_ALARMS
@FORMAT
@FLEET_OUTPUT
def gather(folder: Path, *, margin: float, level: float, format_: str | None, output: tuple[Path, ...]) -> None:
    """Judge the nodes whose records lie under FOLDER.

    A node's runs are the folders FOLDER/NODE/RUN; FOLDER/NODE itself may be the only one. A folder's name is its node's
    name. A record that is damaged or lies under two nodes is named and left out.

    Exit codes: 0 every node is fine; 1 a node is slow, computes wrongly or failed; 2 could not judge; 3 not decided,
    noisy, or not like the others.
    """
    from levelfield.fleet import gather as gathering
    from levelfield.fleet.formats import SUFFIXES

    targets = formats_of(output, format_, hint=_HINT, suffixes=SUFFIXES)
    found = gathering.verdict(gathering.gather(folder), margin=margin, level=level)
    show(found, folder, format_, targets)


@fleet.command()
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
@MAX_SLOWDOWN
@MARGIN
@FALSE_ALARMS
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "markdown", "junit", "json", "html"]),
    help="Format to print; also that of an --output file with an unknown suffix.",
)
@OUTPUT
def compare(
    old: Path,
    new: Path,
    *,
    max_slowdown: float | None,
    margin: float,
    level: float,
    format_: str | None,
    output: tuple[Path, ...],
) -> None:
    """Say whether a roll-out hurt, and where, from two gathered folders of the same nodes.

    Nodes are paired by name, and a node of other hardware than before is left out. Nodes are the replicates: three or
    more give an interval. A node that changed unlike the others has a row of its own.

    Exit codes: 0 nothing is worse; 1 something is worse, fails or is no longer equal; 2 could not compare; 3 not
    decided.
    """
    from levelfield.compare.formats import WRITERS, terminal
    from levelfield.compare.types import Gate
    from levelfield.fleet import rollout
    from levelfield.fleet.gather import gather as gather_folder

    targets = formats_of(output, format_, hint=_HINT)
    gate = Gate(margin=margin, max_slowdown=max_slowdown)
    found = rollout.compare(gather_folder(old), gather_folder(new), gate=gate, level=level)
    write(found, targets)
    if format_ in (None, "terminal") or targets:
        terminal.show(found, terminals.console())
    else:
        terminals.write(WRITERS[format_](found))
    sys.exit(found.exit_code)
