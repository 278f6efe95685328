"""`levelfield plugins`: what installed distributions bring, and whether a backend keeps what is asked of every one."""

import sys
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from levelfield.errors import printable
from levelfield.options import BASE, LAUNCHER
from levelfield.safety import terminals

if TYPE_CHECKING:
    from levelfield.images.base import Source

_SIGNS = {"passed": "[green]passed[/]", "failed": "[bold red]failed[/]", "not asked": "[yellow]not asked[/]"}


@click.group()
def plugins() -> None:
    """List plug-ins, or check a backend."""


@plugins.command(name="list")
def list_() -> None:
    """List what distributions bring, and why some bring nothing."""
    from levelfield import plugins as entries
    from levelfield.backends import registry
    from levelfield.cli import help as sections
    from levelfield.zoo import models

    console = terminals.console()
    brought = [(name, "backend", registry.plugin_of(name)) for name in registry.all_names()]
    brought += [(name, "model", models.plugin_of(name)) for name in models.names()]
    brought += [(name, "command", plugin) for name, (plugin, _) in sections.commands().items()]
    brought += [(plugin.name, "scenarios", plugin) for plugin in entries.installed(entries.SCENARIOS)]
    brought += [("data", "data sets", plugin) for plugin in entries.installed(entries.DATA_SETS)]
    for name, kind, plugin in brought:
        if plugin is not None:
            terminals.say(console, f"{kind} {name}: {plugin.label}")
    for sentence in broken():
        terminals.say(console, sentence, "yellow")


def broken() -> list[str]:
    """Say of each plug-in that brings nothing why."""
    from levelfield.backends import registry
    from levelfield.cli import help as sections
    from levelfield.images.catalogue import unusable
    from levelfield.zoo import models

    reasons = (*registry.broken(), *models.broken(), *sections.broken())
    return [*(reason.sentence for reason in reasons), *unusable()]


@plugins.command()
@click.argument("backend")
@click.option(
    "--model", default="mlp", help="Model to check it with; one with large weights shows whether it frees them."
)
@LAUNCHER
@BASE
def check(backend: str, model: str, launcher: str | None, base: "Source") -> None:
    """Check that BACKEND keeps what is asked of every backend: for whoever writes one.

    Workers load it in every precision that it has. They must answer as the reference does, keep to their threads, free
    what they loaded before, and refuse what they cannot do with a reason.

    Exit codes: 0 everything passed; 1 something failed; 2 it could not be checked.
    """
    from levelfield.launchers.needs import choose
    from levelfield.report.progress import opened
    from levelfield.run import contract

    progress, console = terminals.console(stderr=True), terminals.console()
    chosen, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    chosen.sweep()
    failed = 0
    with opened(progress) as listener:
        for each in contract.check(backend, model, chosen, listener):
            failed += each.state == "failed"
            detail = escape(printable(each.detail))
            console.print(f"{_SIGNS[each.state]} {escape(each.name)}: {detail}", highlight=False, soft_wrap=True)
    console.print(f"{backend}: {failed} failed." if failed else f"{backend} keeps the contract.", markup=False)
    sys.exit(1 if failed else 0)
