"""How often the verdict on an upgrade is wrong, and what so many boots can find.

`nox -s bracket` calls it. It measures nothing, and takes some minutes; its record is committed with the reports.
"""

from pathlib import Path

import click

from studies import commands
from studies.bracket.record import Record, markdown
from studies.bracket.simulate import simulate

UPGRADES = 20_000


@click.command(context_settings=commands.SETTINGS)
@click.option(
    "--upgrades",
    type=click.IntRange(10),
    default=UPGRADES,
    show_default=True,
    help="Simulated upgrades in each setting; of many cases on machines that are not honest, a tenth.",
)
@click.option("--seed", type=click.IntRange(0), default=20_261_125, show_default=True, help="Seed of the simulation.")
@commands.out_option
@commands.analyse_option
def main(upgrades: int, seed: int, out: Path | None, only: Path | None) -> None:
    """Simulate upgrades of honest and of drifting machines, and count wrong verdicts."""
    commands.conduct(
        Record,
        lambda _, listener: simulate(upgrades, seed, listener.say),
        lambda record: record,
        markdown,
        out=out,
        only=only,
        indent=-1,
    )
