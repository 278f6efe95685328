"""`levelfield fleet run`: the same run on every node of a Ray cluster."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from levelfield.cli.measuring import options_of, selection
from levelfield.cli.options import BASE, BUDGET, DURATION, IDENTIFY, LAUNCHER, MARGIN, NAMES, PERCENT, REPORTS, SEED
from levelfield.safety import terminals
from levelfield_fleet.cli_verdict import show

FALSE_ALARMS = 0.01
"""As `fleet gather` has it unless told otherwise."""
PAGE = "fleet.html"


@click.command()
@selection
@click.option("--backends", type=NAMES, default=(), help="Only these backends, separated by commas.")
@click.option("--control", default="auto", help="Backend to measure twice, as a control; auto or none.")
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
@BUDGET
@click.option("--precision-target", type=PERCENT, help="Continue each run until every ratio is known to ± this.")
@MARGIN
@LAUNCHER
@BASE
@REPORTS
@click.option("--seed", type=SEED, help="Seed of the first node's schedule; further nodes have the next ones.")
@IDENTIFY
@click.option("--target", type=PERCENT, help="Accuracy at which convergence ends, such as 90%.")
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
    from levelfield_fleet import gather
    from levelfield_fleet.run import cluster, head, store

    console = terminals.console()
    local = cluster.local_nodes(on)
    if resume is not None and name is not None:
        raise click.UsageError("--resume names a fleet that was begun: leave --name out.")
    chosen = resume or name or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{values['profile']}"
    asked = options_of({**values, "reports": reports})
    begun = head.declare(chosen, asked, console, limit_s=limit_s, repeat=repeat) if resume is None else None
    limits = head.Limits(at_once=at_once or (1 if local else None), tries=tries, patience_s=patience_s)
    state = head.conduct(chosen, reports, on, console, limits, begun)
    done = sum(map(state.has_all, state.nodes.values()))
    folder = store.folder(chosen, reports)
    terminals.say(console, f"Nodes with all runs: {done} of {len(state.nodes)}, in {folder}.")
    if done < len(state.nodes):
        terminals.say(console, f"Try the others again: add --resume {chosen}")
    if not any(node.runs for node in state.nodes.values()):
        sys.exit(1)
    found = gather.verdict(gather.gather(folder), margin=values["margin"], level=FALSE_ALARMS)
    show(found, folder, None, [(folder / PAGE, "html")])
