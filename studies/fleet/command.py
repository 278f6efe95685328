"""How often the verdict on a fleet is wrong, and what it finds.

`nox -s fleet` calls it. It measures nothing, and takes some minutes; its record is committed with the reports.
"""

from pathlib import Path

import click

from studies import commands
from studies.fleet.record import Record, markdown
from studies.fleet.simulate import simulate

FLEETS = 1_000


@click.command(context_settings=commands.SETTINGS)
@click.option(
    "--fleets",
    type=click.IntRange(10),
    default=FLEETS,
    show_default=True,
    help="Simulated fleets of like nodes in each setting; of others a quarter, and fewer of large ones.",
)
@click.option("--seed", type=click.IntRange(0), default=20_261_125, show_default=True, help="Seed of the simulation.")
@commands.out_option
@commands.analyse_option
def main(fleets: int, seed: int, out: Path | None, only: Path | None) -> None:
    """Simulate fleets of like nodes and of slow ones, and count wrong verdicts."""
    commands.conduct(
        Record,
        lambda _, listener: simulate(fleets, seed, listener.say),
        lambda record: record,
        markdown,
        out=out,
        only=only,
        indent=-1,
    )
