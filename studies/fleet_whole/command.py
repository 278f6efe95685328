"""A whole fleet, for real: nodes of Ray on this machine, some of which are killed, slow, or have nothing.

`nox -s fleet -- whole` calls it. It takes ten minutes or so on two cores, and its record is committed with the reports.
"""

import importlib.metadata
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from studies import commands
from studies.fleet_whole import arrival, kills
from studies.fleet_whole.conduct import WORDS, Fleet
from studies.fleet_whole.findings import NODES, find
from studies.fleet_whole.record import Killed, Record, Replay, Whole
from studies.fleet_whole.replay import ARM, SECOND, replay
from studies.fleet_whole.show import markdown
from suite.fleet.run import local
from suite.launchers.docker import connect
from suite.machine.fingerprint import fingerprint
from suite.schedule.outcomes import utc_now
from suite.version import __version__

EFFECTS = (0.05, 0.1)
REPEAT = 2
"""Runs of each node that is slowed down."""
JUDGED = (
    *("--profile", "standard", "--budget", "10s", "--models", "mobilenet"),
    *("--threads", "1", "--control", ARM),
)
"""Smoke runs are not judged; and a call of the MLP takes microseconds, of which 5 % cannot be waited exactly."""
_QUICK = {"RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "500"}
"""Ray hears in seconds that a node is gone."""


def measure(seed: int, folder: Path, say: Callable[[str], None]) -> Record:
    """Make the whole trial; its record has no findings yet.

    Parameters
    ----------
    seed
        Of the peers that are drawn.
    folder
        For everything that is written meanwhile.
    say
        Prints a line.

    Raises
    ------
    LevelfieldError
        Ray or a container engine is not there, or a part could not be made.
    """
    started, load_before = utc_now(), os.getloadavg()
    whole, node, head, replayed = _on_ray(seed, folder, say)
    say("Nodes with empty caches get a bundle")
    bundle = arrival.arrived(folder)
    return Record(
        schema=Record.SCHEMA,
        started=started,
        finished=utc_now(),
        tool_version=__version__,
        machine=fingerprint(()),
        seed=seed,
        ray=importlib.metadata.version("ray"),
        launcher="docker",
        plan=" ".join(WORDS),
        slowed_plan=" ".join(JUDGED),
        load_before=load_before,
        load_after=os.getloadavg(),
        whole=whole,
        node=node,
        head=head,
        replay=replayed,
        bundle=bundle,
    )


def _on_ray(seed: int, folder: Path, say: Callable[[str], None]) -> tuple[Whole, Killed, Killed, Replay]:
    """Make all parts that share nodes."""
    engine = connect()
    variables = {"RAY_USAGE_STATS_ENABLED": "0", **_QUICK}
    with local.surroundings(variables), local.nodes(NODES) as address:

        def fleet(name: str) -> Fleet:
            return Fleet(name, folder, address)

        say(f"{NODES} nodes")
        whole = kills.whole(fleet("whole"))
        say("A node is killed")
        node = kills.node(fleet("node-killed"), engine)
        say("The head is killed")
        head = kills.head(fleet("head-killed"), engine)
        measured: dict[float, list[bytes]] = {}
        for effect in EFFECTS:
            say(f"All nodes are slowed down by {effect:.0%}")
            slowed = fleet(f"slowed-{effect:g}")
            slowed.run("--at-once", "1", "--repeat", str(REPEAT), *JUDGED, "--inject", f"{effect:.0%}@{SECOND}")
            measured[effect] = slowed.contents()
    say("Replaying records as nodes")
    return whole, node, head, replay(measured, folder / "replayed", seed)


@click.command(context_settings=commands.SETTINGS)
@click.option("--seed", type=click.IntRange(0), default=20_261_125, show_default=True, help="Draws replayed peers.")
@commands.out_option
@commands.analyse_option
def main(seed: int, out: Path | None, only: Path | None) -> None:
    """Run a fleet of Ray's own nodes on this machine, and kill, slow down and empty some: ten minutes or so."""
    with tempfile.TemporaryDirectory(prefix="lf-fleet-") as name:
        commands.conduct(
            Record,
            lambda _, listener: measure(seed, Path(name), listener.say),
            lambda made: msgspec.structs.replace(made, findings=find(made)),
            markdown,
            out=out,
            only=only,
        )
