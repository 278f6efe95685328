"""How often this machine raises a false alarm: many A/A runs, each exactly as `bench` would do it.

Two arms of one backend are in one block, as in any report; the runs go through
the same plan, the same schedule and the same analysis. The result is kept in the cache (`suite.run.calibration`).
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import numpy as np

from studies import commands
from suite import analysis
from suite.analysis import launch_levels
from suite.errors import LevelfieldError
from suite.machine.fingerprint import fingerprint
from suite.plan import Plan, Selection
from suite.plan.profiles import STANDARD
from suite.record import journal
from suite.record.files import JOURNAL
from suite.record.schema import Run
from suite.report.markdown import table
from suite.run.calibration import EFFECTS, Calibration, Conditions, Repeat, conclude, load, same_machine, store
from suite.run.options import Options as RunOptions
from suite.run.start import start_run
from suite.schedule import scratch
from suite.schedule.listener import SilentListener
from suite.schedule.outcomes import utc_now
from suite.schedule.resources import RunResources
from suite.schedule.run import RunInProgress
from suite.statistics.verdicts import DEFAULT_MARGIN, verdict_of
from suite.version import __version__


def run(selection: Selection, runs: int, listener: commands.Terminal, *, add: bool) -> Calibration:
    """Make the runs; the result is kept after each, so that an interruption loses one run at the most."""
    with commands.prepared(selection, listener) as (plan, resources):
        conditions = Conditions(
            started=utc_now(),
            tool_version=__version__,
            machine=fingerprint(resources.cpus),
            image=resources.image(plan.blocks[0].arms[0]).tag,
            backend=plan.blocks[0].arms[0].backend,
            case=plan.blocks[0].case,
            margin=DEFAULT_MARGIN,
            launches=STANDARD.generations,
            rounds=STANDARD.rounds,
            window_ns=STANDARD.window_ns,
        )
        conditions, repeats = _before(conditions) if add else (conditions, [])
        for left in reversed(range(runs)):
            last = _repeat(plan, resources)
            repeats.append(last)
            found = conclude(conditions, repeats, utc_now())
            store(found)
            listener.say(
                f"run {runs - left} of {runs}: {last.ratio:.4f} ({last.low:.4f} to {last.high:.4f}), {last.verdict}, "
                f"{last.seconds:.0f} s; {left * last.seconds / 60:.0f} minutes left"
            )
    return found


def _before(now: Conditions) -> tuple[Conditions, list[Repeat]]:
    before = load()
    if before is None:
        raise LevelfieldError("There is no calibration to add to.", fix="Start one, without --add.")
    known = Conditions(**{name: getattr(before, name) for name in Conditions.__struct_fields__})
    expected = msgspec.structs.replace(now, started=known.started, machine=known.machine)
    if known != expected or not same_machine(known.machine, now.machine):
        raise LevelfieldError(
            "The calibration that is kept was made under other conditions.", fix="Start a new one, without --add."
        )
    return known, list(before.repeats)


def _repeat(plan: Plan, resources: RunResources) -> Repeat:
    """Make one run, with compile caches of its own, in a folder that is thrown away afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="levelfield-calibrate-"))
    own = msgspec.structs.replace(resources, caches=scratch.make_folder())
    began = time.monotonic()
    try:
        run_folder = start_run(plan, RunOptions(seed=secrets.randbits(63), reports=folder, by_clock=False), own)
        RunInProgress(run_folder, own, SilentListener()).measure()
        record = journal.fold(journal.read(run_folder / JOURNAL))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        scratch.remove(own.caches)
    return repeat_of(record, time.monotonic() - began)


def repeat_of(record: Run, seconds: float) -> Repeat:
    """Return what one run says about identical arms."""
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


def markdown(found: Calibration) -> str:
    """Return what was found as Markdown."""
    return "\n".join(_lines(found))


def _lines(found: Calibration) -> Iterator[str]:
    yield f"{found}\n"
    yield (
        f"Called the same in {found.same.successes} of {found.same.trials} "
        f"({found.same.low:.1%} to {found.same.high:.1%}); {sum(each.seconds for each in found.repeats) / 60:.0f} "
        f"minutes of measuring, {found.launches} launches × {found.rounds} rounds of {found.window_ns / 1e9:g} s.\n"
    )
    if found.split is None:
        return
    yield (
        f"Variance: launch {found.split.launch_sd:.2%}, window {found.split.window_sd:.2%}, drift of rounds "
        f"{found.split.round_sd:.2%} (standard deviations).\n"
    )
    yield "Power: how often a slowdown is found (95 % intervals)\n"
    power = {(point.launches, point.effect): point.power for point in found.curve}
    yield from table(
        ("launches:", *(f"+{effect:.1%}:" for effect in EFFECTS)),
        (
            (str(launches), *(f"{power[launches, effect]:.0%}" for effect in EFFECTS))
            for launches in sorted({launches for launches, _ in power})
        ),
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="A/A runs; half a minute each.")
@click.option("--model", default="resnet50", show_default=True)
@click.option("--backend", default="onnxruntime", show_default=True)
@click.option("--threads", type=int, default=None, help="Threads of both arms; default: one per core.")
@click.option("--add", is_flag=True, help="Add the runs to the calibration that is kept.")
def main(runs: int, model: str, backend: str, threads: int | None, add: bool) -> None:
    """Measure how often this machine calls identical programs different, and how small a change it sees."""
    selection = commands.selection((model,), (backend,), threads, profile=STANDARD.name, control=backend)
    with commands.terminal() as listener:
        listener.show(markdown(run(selection, runs, listener, add=add)))


if __name__ == "__main__":
    main()
