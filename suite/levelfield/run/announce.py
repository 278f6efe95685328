"""What a run fetches, builds and measures, said before it begins; and whether it begins."""

import sys

import click
from rich.console import Console
from rich.markup import escape

from levelfield.errors import LevelfieldError
from levelfield.images.build import estimate
from levelfield.launchers.protocol import Launcher
from levelfield.machine import quiet
from levelfield.names import plural
from levelfield.plan import Plan
from levelfield.prepare.own_model.python_file import check_isolated
from levelfield.report.units import roughly
from levelfield.run.first_ranking import needed
from levelfield.run.options import Options
from levelfield.run.start import clock_seconds
from levelfield.statistics.student import MIN_LAUNCHES

LARGE_BYTES = 1_000_000_000
"""Disk that images may take without a question."""
LAUNCH_S = 1.0
"""The quickest launch: a process starts, imports a framework, and loads a small model."""
_LOOK_S = 0.5
_PLACES = {"docker": "Containers", "venv": "Virtual environments"}


def announce(chosen: Plan, launcher: Launcher, options: Options, console: Console) -> None:
    """Print what a run will do, with sizes and times; in a terminal, ask before large images are made.

    Raises SystemExit: a dry run ends here. Raises LevelfieldError: the answer was no; or a user's Python would run
    anywhere but in containers.
    """
    check_isolated(chosen.own, (arm.launcher or launcher.kind for arm in chosen.answering))
    cases, results = len(chosen.blocks), sum(len(block.arms) for block in chosen.blocks)
    console.print(
        f"[bold]{plural(len(chosen.backends), 'backend')}[/] ({', '.join(chosen.backends)}) × "
        f"{plural(len(chosen.models), 'model')} × {', '.join(chosen.scenarios)} on {plural(len(chosen.cpus), 'CPU')}, "
        f"profile {chosen.profile.name}: {plural(cases, 'case')}, {plural(results, 'result')}{_time(chosen, options)}.",
        highlight=False,
    )
    for message, remedy in dict.fromkeys(
        (each.message, each.remedy) for each in chosen.warnings
    ):  # of all its arms once
        console.print(f"[yellow]{escape(message)}[/] {escape(remedy)}", highlight=False)
    for found in quiet.now(_LOOK_S):
        if found.topic == "other processes" and found.state == "warn":
            console.print(f"[yellow]{escape(f'Other processes: {found.message} {found.fix}')}[/]", highlight=False)
    if short := _too_short(chosen, options):
        console.print(f"[yellow]{short}[/]", highlight=False)
    costs = {place: estimate(names, place, options.base) for place, names in needed(chosen, launcher).items()}
    for place, cost in costs.items():
        prefix = f"{_PLACES[place]}: " if len(costs) > 1 else ""
        console.print(prefix + cost.sentence(), highlight=False)
    if options.dry_run:
        raise SystemExit(0)
    large = sum(cost.disk_bytes for cost in costs.values()) > LARGE_BYTES
    in_terminal = console.is_terminal and sys.stdin is not None and sys.stdin.isatty()
    if large and in_terminal and not options.yes and not click.confirm("Make them?", default=True, err=True):
        raise LevelfieldError("Nothing was made or measured.", fix="Name fewer backends with --backends.")


def _too_short(chosen: Plan, options: Options) -> str:
    """Say that a budget is spent before any case can have a rank; empty: it may have time for one."""
    arms = min(len(block.arms) for block in chosen.blocks)
    least_s = LAUNCH_S * MIN_LAUNCHES * arms
    if chosen.profile.generations < MIN_LAUNCHES or least_s <= (options.budget_seconds or least_s):
        return ""
    return (
        f"Nothing can be ranked in {roughly(options.budget_seconds or 0)}: {MIN_LAUNCHES} launches of each of {arms} "
        f"arms take {roughly(least_s)} at the least. Give a larger --budget, or fewer --backends."
    )


def _time(chosen: Plan, options: Options) -> str:
    """Return how long measuring takes: where nothing else says it, what the profile is."""
    if options.until_seconds is not None:
        return f", all of it within {roughly(options.until_seconds)}"
    clock_s = clock_seconds(chosen, options)
    if clock_s is not None and options.budget_seconds is None:
        return f", measured for about {roughly(clock_s)}"
    by_result = options.ends_on_verdict or options.precision_target is not None
    most_s = options.budget_seconds or (chosen.profile.budget_seconds if by_result else None)
    return f" ({escape(chosen.profile.says)})" if most_s is None else f", measured for {roughly(most_s)} at the most"
