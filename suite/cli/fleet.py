"""`levelfield fleet`: which node of a fleet is slow, wrong, noisy or not like the others."""

import click

from suite.cli.fleet_run import run


@click.group()
def fleet() -> None:
    """Judge the nodes of a fleet: the same run on every node, each compared with nodes of like hardware."""


fleet.add_command(run)
