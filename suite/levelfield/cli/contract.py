"""`levelfield contract`: whether a backend keeps what is asked of every one."""

import sys
from typing import Literal

import click
from rich.markup import escape

from levelfield.cli.options import BASE, LAUNCHER
from levelfield.errors import printable
from levelfield.safety import terminals

_SIGNS = {"passed": "[green]passed[/]", "failed": "[bold red]failed[/]", "not asked": "[yellow]not asked[/]"}


@click.command()
@click.argument("backend")
@click.option(
    "--model", default="mlp", help="Model to check it with; one with large weights shows whether it frees them."
)
@LAUNCHER
@BASE
def contract(backend: str, model: str, launcher: str | None, base: Literal["debian", "registry"]) -> None:
    """Check that BACKEND keeps what is asked of every backend: for whoever writes one.

    Workers load it in every precision that it has. They must answer as the reference does, keep to their threads, free
    what they loaded before, and refuse what they cannot do with a reason.

    Exit codes: 0 everything passed; 1 something failed; 2 it could not be checked.
    """
    from levelfield.launchers.needs import choose
    from levelfield.report.progress import opened
    from levelfield.run.contract import check

    progress, console = terminals.console(stderr=True), terminals.console()
    chosen, reason = choose(launcher, base=base)
    if reason:
        progress.print(f"[bold yellow]{escape(reason)}[/] It runs in virtual environments instead.", highlight=False)
    chosen.sweep()
    failed = 0
    with opened(progress) as listener:
        for each in check(backend, model, chosen, listener):
            failed += each.state == "failed"
            detail = escape(printable(each.detail))
            console.print(f"{_SIGNS[each.state]} {escape(each.name)}: {detail}", highlight=False, soft_wrap=True)
    console.print(f"{backend}: {failed} failed." if failed else f"{backend} keeps the contract.", markup=False)
    sys.exit(1 if failed else 0)
