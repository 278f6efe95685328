"""`levelfield upgrade`: is a driver, kernel or CUDA upgrade safe, measured over reboots."""

from pathlib import Path
from typing import Any

import click

from levelfield import terminals
from levelfield.cli.compare import end, formats_of
from levelfield.options.registry import BACKENDS, CONTROL, DATA, FORMAT, OUTPUT, REPORTS, TARGET, selection
from levelfield.options.values import NAMES

MOST_BOOTS = 100
_NAME = click.argument("name", required=False)


@click.group()
def upgrade() -> None:
    """Measure whether a driver, kernel or CUDA upgrade is safe, over reboots.

    The old stack is measured in several boots, then the new one, then the old one again: what drifted on the machine
    shows in the old stack, and is not taken for the upgrade's.
    """


@upgrade.command()
@click.argument("name")
@selection
@BACKENDS
@CONTROL.but(
    default="none",
    help="Backend to measure twice in every boot, or auto; default: none. Boots are compared, so it only takes time.",
)
@click.option(
    "--boots",
    type=click.IntRange(1, MOST_BOOTS),
    default=3,
    help="Boots of each phase (before, new and after): three or more.",
)
@click.option("--one-way", is_flag=True, help="There is no going back to the old stack: it is not measured again.")
@click.option(
    "--sides",
    metavar="OLD,NEW",
    type=NAMES,
    default=(),
    help="Two arms stand for the sides, and a run for a boot: onnxruntime@1.29.0,onnxruntime@1.30.0.",
)
@DATA
@TARGET
def begin(
    name: str,
    boots: int,
    *,
    one_way: bool,
    sides: tuple[str, ...],
    **values: Any,  # noqa: ANN401  (each option has a type of its own)
) -> None:
    """Declare the upgrade NAME on the old stack, before anything is changed.

    Nothing is measured yet. Run `levelfield upgrade next` in this boot and after every reboot.
    """
    from levelfield.run.options import options_of
    from levelfield.run.upgrade import measure, progress, store

    if sides and (len(sides) != 2 or values["backends"]):
        raise click.UsageError("--sides names two arms, OLD,NEW, and takes the place of --backends.")
    console = terminals.console()
    options = options_of(values)
    state = measure.begin(name, options, console, boots=boots, one_way=one_way, sides=sides)
    for line in (*store.promise(state.begun), progress.advice(state, options.reports)):
        terminals.say(console, line)


@upgrade.command(name="next")
@_NAME
@click.option("--all", "all_", is_flag=True, help="With --sides: measure all runs that are left, one after the other.")
@REPORTS
def next_(name: str | None, *, all_: bool, reports: Path) -> None:
    """Measure this boot of the upgrade NAME, and say what comes next.

    Run it after every boot: it sees which side this is, and measures a boot once. NAME may be left out where one
    upgrade is not done.

    Exit codes: 0 measured, or nothing to do; 2 refused.
    """
    from levelfield.errors import LevelfieldError
    from levelfield.run.upgrade import measure, store

    console = terminals.console()
    chosen = name or store.open_one(reports)
    if not chosen:
        terminals.say(console, "Every upgrade is done: there is nothing to measure.")
        return
    if all_ and not store.load(chosen, reports).begun.declared:
        raise LevelfieldError(
            "--all is for sides that are image sets: here each run needs a boot of its own.", fix="Leave --all out."
        )
    state = measure.advance(chosen, reports, console)
    while all_ and state.phase is not None:
        state = measure.advance(chosen, reports, console)


@upgrade.command()
@_NAME
@REPORTS
def status(name: str | None, *, reports: Path) -> None:
    """Show how far the upgrade NAME is, or all of them, and what comes next."""
    from levelfield.run.upgrade import store

    console = terminals.console()
    found = [name] if name else store.names(reports)
    if not found:
        terminals.say(console, f"There is no upgrade under {reports}. `levelfield upgrade begin NAME` begins one.")
    for each in found:
        for line in store.lines(store.load(each, reports), reports):
            terminals.say(console, line)


@upgrade.command()
@click.argument("name")
@click.option(
    "--accept",
    multiple=True,
    metavar="PATTERN",
    help="A setting that may differ between the sides, such as 'clock, governor' or 'gpu, * power limit*'. May be "
    "repeated.",
)
@click.option(
    "--one-way",
    is_flag=True,
    help="There turned out to be no going back: judge the upgrade without measuring the old stack again.",
)
@FORMAT
@OUTPUT
@REPORTS
def verdict(
    name: str, *, accept: tuple[str, ...], one_way: bool, format_: str | None, output: tuple[Path, ...], reports: Path
) -> None:
    """Say of each case whether the upgrade NAME is safe, and what else changed with it.

    Speed gets a verdict when all boots are measured: asked before, this shows what is known so far.

    Exit codes: 0 safe or faster in every case; 1 slower, fails, or answers moved; 2 could not compare; 3 not decided,
    drifted, or not attributable.
    """
    from levelfield.compare.upgrade import judge
    from levelfield.run.upgrade import progress, store

    targets = formats_of(output, format_, hint=" Or say which with --format.")
    state = store.load_own(name, reports)
    if one_way:
        state = progress.without_way_back(state)
    found = judge(state.design, store.load_phases(state, reports), accept)
    end(found, targets, format_)
