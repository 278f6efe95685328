"""`levelfield fleet`: which node of a fleet is slow, wrong, noisy or not like the others."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from levelfield import terminals
from levelfield.cli.compare import formats_of
from levelfield.options.registry import BACKENDS, CONTROL, MARGIN, MAX_SLOWDOWN, OUTPUT, SEED, TARGET, selection
from levelfield.options.values import DURATION, PERCENT
from levelfield.run.options import options_of

if TYPE_CHECKING:
    from rich.console import Console

    from levelfield.compare.types import Comparison
    from levelfield_fleet.types import Fleet

_T = TypeVar("_T", "Fleet", "Comparison")
PAGE = "fleet.html"
LEVEL = "1%"
_HINT = " Or say which with --format."
_FORMATS = ["terminal", "markdown", "junit", "json", "html"]
_FOLDER = click.Path(path_type=Path)
FALSE_ALARMS = click.option(
    "--false-alarms",
    "level",
    type=PERCENT,
    default=LEVEL,
    help="Probability that any node of a fleet of like nodes is called slow or fast in any case.",
)


def _format(*further: str) -> Callable[..., Any]:
    return click.option(
        "--format",
        "format_",
        type=click.Choice([*_FORMATS, *further]),
        help="Format to print; also that of an --output file with an unknown suffix.",
    )


@click.group()
def fleet() -> None:
    """Judge the nodes of a fleet: the same run on every node, each compared with nodes of like hardware."""


@fleet.command()
@click.argument("folder", type=_FOLDER)
@MARGIN
@FALSE_ALARMS
@_format("openmetrics")
@click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the verdict to a file: .md, .xml (JUnit), .json, .html, .txt or .prom (OpenMetrics). May be "
    "repeated.",
)
def gather(folder: Path, *, margin: float, level: float, format_: str | None, output: tuple[Path, ...]) -> None:
    """Judge the nodes whose records lie under FOLDER.

    A node's runs are the folders FOLDER/NODE/RUN; FOLDER/NODE itself may be the only one. A folder's name is its node's
    name. A record that is damaged or lies under two nodes is named and left out.

    Exit codes: 0 every node is fine; 1 a node is slow, computes wrongly or failed; 2 could not judge; 3 not decided,
    noisy, or not like the others.
    """
    from levelfield_fleet.formats import SUFFIXES

    _judge(folder, margin, level, format_, formats_of(output, format_, hint=_HINT, suffixes=SUFFIXES))


def _judge(
    folder: Path, margin: float, level: float, format_: str | None, targets: Iterable[tuple[Path, str]]
) -> NoReturn:
    from levelfield_fleet import formats, html
    from levelfield_fleet import gather as gathering

    def write(verdict: "Fleet", name: str, beside: Path) -> str:
        if name == "html":
            return html.write(verdict, os.path.relpath(folder, beside))
        return formats.WRITERS[name](verdict)

    verdict = gathering.verdict(gathering.gather(folder), margin=margin, level=level)
    _show(verdict, format_, targets, write, formats.show)


def _show(
    verdict: _T,
    format_: str | None,
    targets: Iterable[tuple[Path, str]],
    write: "Callable[[_T, str, Path], str]",
    show: "Callable[[_T, Console], None]",
) -> NoReturn:
    """Print a verdict, write it to files, and exit with its code."""
    from levelfield.record.files import write_atomically

    targets = list(targets)
    for path, name in targets:
        write_atomically(path, write(verdict, name, path.parent).encode("utf-8", "replace"), named=True)
    if format_ in (None, "terminal") or targets:
        show(verdict, terminals.console())
    else:
        terminals.write(write(verdict, format_, Path()))
    sys.exit(verdict.exit_code)


@fleet.command()
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
@MAX_SLOWDOWN
@MARGIN
@FALSE_ALARMS
@_format()
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
    from levelfield_fleet import rollout
    from levelfield_fleet.gather import gather as gather_folder

    targets = formats_of(output, format_, hint=_HINT)
    gate = Gate(margin=margin, max_slowdown=max_slowdown)
    verdict = rollout.compare(gather_folder(old), gather_folder(new), gate=gate, level=level)
    _show(verdict, format_, targets, lambda one, name, _: WRITERS[name](one), terminal.show)


@fleet.command()
@selection
@BACKENDS
@CONTROL
@click.option(
    "--on",
    metavar="ADDRESS",
    required=True,
    help="The cluster: ray://HOST:PORT, HOST:PORT on one of its nodes, or local:3 for nodes that are started here.",
)
@click.option("--name", help="Name of the fleet and its folder; default: the time and the profile.")
@click.option("--resume", metavar="NAME", help="Go on with a fleet: nodes that have a run are not measured again.")
@click.option(
    "--at-once",
    type=click.IntRange(1),
    help="How many nodes measure at the same time; default: all, and one with --on local:N.",
)
@click.option("--repeat", type=click.IntRange(1, 100), default=1, help="How many runs each node makes; default: 1.")
@click.option("--tries", type=click.IntRange(1, 10), default=2, help="How often a run is tried.")
@click.option(
    "--wait",
    "patience_s",
    type=DURATION,
    default="60s",
    help="How long to wait for nodes that are gone, when all others have ended.",
)
@click.option(
    "--limit",
    "limit_s",
    type=DURATION,
    help="Time after which the run of a node hangs, without the hour that making images may take; default: three times "
    "its budget.",
)
@SEED.but(help="Seed of the first node's schedule; further nodes have the next ones.")
@TARGET
def run(
    *,
    on: str,
    name: str | None,
    resume: str | None,
    at_once: int | None,
    repeat: int,
    tries: int,
    patience_s: float,
    limit_s: float | None,
    reports: Path,
    **values: Any,  # noqa: ANN401  (each option has a type of its own)
) -> None:
    """Measure the same on every node of a Ray cluster, and bring the runs back.

    Each node runs `levelfield bench` with the options given here, once or as often as --repeat says: nodes with fewer
    runs come first. A node that dies or hangs costs its own run only, which is tried again.

    In the end the nodes are judged as by `levelfield fleet gather`, and its page is written beside their runs.

    Exit codes: 0 every node is fine; 1 a node is slow, computes wrongly, failed or has no run; 2 could not run or
    judge; 3 not decided, noisy, or not like the others.
    """
    from levelfield_fleet.run import cluster, declare, head, journal

    console = terminals.console()
    local = cluster.local_nodes(on)
    if resume is not None and name is not None:
        raise click.UsageError("--resume names a fleet that was begun: leave --name out.")
    chosen = resume or name or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{values['profile']}"
    asked = options_of({**values, "reports": reports})
    begun = declare.declare(chosen, asked, console, limit_s=limit_s, repeat=repeat) if resume is None else None
    limits = head.Limits(at_once=at_once or (1 if local else None), tries=tries, patience_s=patience_s)
    state = head.conduct(chosen, reports, on, console, limits, begun)
    done = sum(map(state.has_all, state.nodes.values()))
    folder = journal.folder(chosen, reports)
    terminals.say(console, f"Nodes with all runs: {done} of {len(state.nodes)}, in {folder}.")
    if done < len(state.nodes):
        terminals.say(console, f"Try the others again: add --resume {chosen}")
    if not any(node.runs for node in state.nodes.values()):
        sys.exit(1)
    _judge(folder, values["margin"], PERCENT.convert(LEVEL, None, None), None, [(folder / PAGE, "html")])
