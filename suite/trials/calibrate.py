"""How often this machine raises a false alarm: many A/A runs, each exactly as `bench` would do it.

`nox -s calibrate` calls it. Two arms of one backend stand in a block as they stand in any report; the runs go through
the same plan, the same schedule and the same analysis. The result is kept in the cache (`suite.run.calibration`).
"""

import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from suite import __version__, analysis, plan
from suite.analysis import launch_levels
from suite.errors import LevelfieldError
from suite.launchers.docker import DockerLauncher, connect
from suite.machine.fingerprint import fingerprint
from suite.plan.profiles import STANDARD
from suite.record import journal
from suite.record.files import JOURNAL
from suite.record.schema import Run
from suite.run.calibration import EFFECTS, Calibration, Conditions, Repeat, conclude, load, same_machine, store
from suite.run.start import Request, start_run
from suite.safety import terminals
from suite.schedule import scratch
from suite.schedule.listener import SilentListener
from suite.schedule.outcomes import utc_now
from suite.schedule.preparation import prepare
from suite.schedule.run import RunInProgress
from suite.schedule.site import Site
from suite.statistics.verdicts import DEFAULT_MARGIN, verdict_of


class Options(msgspec.Struct, frozen=True):
    """What was asked for."""

    runs: int
    model: str
    backend: str
    threads: int | None = None
    add: bool = False
    """Go on with the calibration that is kept."""


def run(options: Options, say: Callable[[str], None], keep: Callable[[Calibration], object]) -> Calibration:
    """Make the runs.

    Parameters
    ----------
    keep
        Is given the result after every run, so that an interruption loses one run at the most.

    Raises
    ------
    LevelfieldError
        No engine answers, a run gave no control, or runs were to be added to such as were made under other conditions.
    """
    chosen = plan.make(
        plan.Selection(
            profile=STANDARD.name,
            models=(options.model,),
            backends=(options.backend,),
            scenarios=("latency",),
            threads=() if options.threads is None else (options.threads,),
            control=options.backend,
        )
    )
    launcher = DockerLauncher(connect())
    launcher.sweep()
    site = prepare(chosen, launcher, SilentListener())
    scratch.remove(site.caches)  # every run gets its own
    conditions = Conditions(
        started=utc_now(),
        tool_version=__version__,
        machine=fingerprint(site.cpus),
        image=site.image(chosen.blocks[0].arms[0]).tag,
        backend=options.backend,
        case=chosen.blocks[0].case,
        margin=DEFAULT_MARGIN,
        launches=STANDARD.generations,
        rounds=STANDARD.rounds,
        window_ns=STANDARD.window_ns,
    )
    repeats: list[Repeat] = []
    if options.add:
        conditions, repeats = _before(conditions)
    found: Calibration | None = None
    for number in range(options.runs):
        repeats.append(_repeat(chosen, site))
        found = conclude(conditions, repeats, utc_now())
        keep(found)
        last = repeats[-1]
        say(
            f"run {number + 1} of {options.runs}: {last.ratio:.4f} ({last.low:.4f} to {last.high:.4f}), "
            f"{last.verdict}, {last.seconds:.0f} s; {(options.runs - number - 1) * last.seconds / 60:.0f} minutes left"
        )
    if found is None:
        raise LevelfieldError("Nothing was asked for.", fix="Ask for one run at least, with --runs.")
    return found


def _before(now: Conditions) -> tuple[Conditions, list[Repeat]]:
    before = load()
    if before is None:
        raise LevelfieldError("There is no calibration to add to.", fix="Begin one, without --add.")
    known = Conditions(**{name: getattr(before, name) for name in Conditions.__struct_fields__})
    expected = msgspec.structs.replace(now, started=known.started, machine=known.machine)
    if known != expected or not same_machine(known.machine, now.machine):
        raise LevelfieldError(
            "The calibration that is kept was made under other conditions.", fix="Begin a new one, without --add."
        )
    return known, list(before.repeats)


def _repeat(chosen: plan.Plan, site: Site) -> Repeat:
    """Make one run in a folder that is thrown away afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="levelfield-calibrate-"))
    own = msgspec.structs.replace(site, caches=scratch.make_folder())
    began = time.monotonic()
    try:
        where = start_run(chosen, Request(seed=secrets.randbits(63)), own, folder)
        RunInProgress(where, own, SilentListener()).measure()
        record = journal.fold(journal.read(where / JOURNAL))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        scratch.remove(own.caches)
    return repeat_of(record, time.monotonic() - began)


def repeat_of(record: Run, seconds: float) -> Repeat:
    """Return what one run says about identical arms.

    Raises
    ------
    LevelfieldError
        Its control gave no interval: an arm failed, was not equal, or has too few launches.
    """
    block = record.blocks[0]
    controls = analysis.analyse(record).timed[0].controls
    ratio = controls[0].ratio if controls else None
    if ratio is None or ratio.low is None or ratio.high is None:
        failures = [each.failure.message for one in block.generations for each in one.launches if each.failure]
        raise LevelfieldError(
            "A run gave no interval for its control.", fix=f"Why: {failures[-1] if failures else 'too few launches'}."
        )
    medians = np.exp(launch_levels.reduce(block).log_counted)
    return Repeat(
        run=record.id,
        started=record.started,
        seconds=seconds,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        verdict=verdict_of(ratio.low, ratio.high, margin=DEFAULT_MARGIN),
        medians_ns=tuple(
            tuple(tuple(None if np.isnan(value) else float(value) for value in row) for row in generation)
            for generation in medians
        ),
    )


def show(found: Calibration, console: Console) -> None:
    """Print what was found."""
    console.print(escape(str(found)), highlight=False)
    console.print(
        f"Called the same in {found.same.successes} of {found.same.trials} "
        f"({found.same.low:.1%} to {found.same.high:.1%}); {sum(each.seconds for each in found.repeats) / 60:.0f} "
        f"minutes of measuring, {found.launches} launches × {found.rounds} rounds of {found.window_ns / 1e9:g} s.",
        highlight=False,
    )
    if found.split is None:
        return
    console.print(
        f"Variance: launch {found.split.launch_sd:.2%}, window {found.split.window_sd:.2%}, drift of rounds "
        f"{found.split.round_sd:.2%} (standard deviations).",
        highlight=False,
    )
    table = Table(title="Power: how often a slowdown is found (95 % intervals)", title_justify="left")
    table.add_column("launches", justify="right")
    for effect in EFFECTS:
        table.add_column(f"+{effect:.1%}", justify="right")
    for launches in sorted({point.launches for point in found.curve}):
        row = {point.effect: point.power for point in found.curve if point.launches == launches}
        table.add_row(str(launches), *(f"{row[effect]:.0%}" for effect in EFFECTS))
    console.print(table)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="A/A runs; half a minute each.")
@click.option("--model", default="resnet50", show_default=True)
@click.option("--backend", default="onnxruntime", show_default=True)
@click.option("--threads", type=int, default=None, help="Threads of both arms; default: one per core.")
@click.option("--add", is_flag=True, help="Add the runs to the calibration that is kept.")
def main(runs: int, model: str, backend: str, threads: int | None, add: bool) -> None:
    """Measure how often this machine calls identical programs different, and how small a change it sees."""
    console = terminals.console()

    def say(text: str) -> None:
        console.print(f"[dim]{escape(text)}[/]", highlight=False)

    try:
        found = run(Options(runs, model, backend, threads, add), say, store)
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        sys.exit(2)
    show(found, console)


if __name__ == "__main__":
    main()
