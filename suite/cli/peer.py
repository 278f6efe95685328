"""`levelfield peer`: let runs of other hosts train with this one."""

import socket
from pathlib import Path
from typing import Literal

import click
from rich.markup import escape

from suite.cli.options import BASE, CPUS, LAUNCHER
from suite.errors import LevelfieldError, printable
from suite.safety import terminals


@click.command()
@click.option("--listen", metavar="ADDRESS:PORT", required=True, help="Address of this host to wait at, and no other.")
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File with the key that all hosts share: 64 hexadecimal digits, readable by its owner alone.",
)
@CPUS
@LAUNCHER
@BASE
def peer(
    listen: str,
    key: Path,
    cpus: tuple[int, ...] | Literal["all"],
    launcher: str | None,
    base: Literal["debian", "registry"],
) -> None:
    """Let runs of other hosts train with this one: `levelfield bench --nodes 2 --peers` there names this address.

    It runs until it is interrupted, and serves one run after the other. Images and weights are made on this host, and
    have to be equal to those of the run. Whoever has the key may start workers here, in Levelfield's images alone. What
    hosts send to each other is neither encrypted nor signed, and the engines of training ask for no key: use a network
    that you trust.
    """
    from suite.hosts import addresses, agent
    from suite.launchers import owned_folders
    from suite.launchers.choice import choose
    from suite.run.start import tool_sha256

    console = terminals.console()
    address, port = addresses.parse(listen)
    secret = addresses.read_key(key)
    chosen, reason = choose(launcher, base=base)
    if reason:
        console.print(f"[bold yellow]{escape(reason)}[/] Workers run in virtual environments instead.", highlight=False)
    chosen.sweep()
    owned_folders.sweep()

    def say(line: str) -> None:
        terminals.say(console, printable(line))

    try:
        listening = socket.create_server((address, port))
    except OSError as error:
        raise LevelfieldError(
            f"Nothing can listen at {address}:{port}: {error.strerror or error}.",
            fix="Name an address of this host, and a port that is free.",
        ) from error
    with listening:
        say(f"Waiting for runs at {address}:{port}; Ctrl-C ends it.")
        agent.serve(listening, secret, lambda at: agent.Agent(chosen, tool_sha256(), at, cpus, say), say)
