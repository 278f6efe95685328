"""How often the rules err on a machine with two states: simulated, in some minutes, without measuring anything.

What published records say of the two states: by how much contention slows every arm, and what modes JAX's MLP has.

A round is *contended* where the canary took at least `CONTENDED` of its low level in that block, and *calm* where it
took at most `CALM`; what lies between is left out. The canary is one window among those of its round, and a state may
change within a round: so factors are, if anything, too small.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import numpy as np

from levelfield.record import files
from levelfield.record.schema import Block, Generation
from levelfield.report.markdown import table
from levelfield.statistics.arrays import Floats
from levelfield.statistics.student import MIN_LAUNCHES
from studies import commands
from studies.simulation import world
from studies.simulation.study import BOOTS, SLOWDOWNS, STRAY, STRAY_SHARE, Study, answer

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RECORDS = ("20261127-153342-standard-6bbc", "20261127-183111-standard-cf07")
"""Default runs of all backends."""
MODES = "20261125-204614-standard-1627"
"""The run with most launches of JAX's MLP."""
CALM, CONTENDED = 1.07, 1.15
LOW = 10
"""Percentile of a block's canary windows that is its low level."""
FEWEST = 2
"""Rounds of either state that a factor takes."""
SLOW_MODE = 1.5
"""A launch that takes so many times the median is in the slow mode."""


class Contention(msgspec.Struct, frozen=True):
    """What contention does to one backend."""

    backend: str
    factors: tuple[float, ...]
    """Time in contended rounds over time in calm ones, medians of windows: one for each case, ascending."""


class Modes(msgspec.Struct, frozen=True):
    """Launches of JAX's MLP, of which some take several times as long."""

    launches: int
    slow: int
    factor: float
    """Median of the slow ones over that of the others."""


def contention() -> tuple[Contention, ...]:
    """Return the factors of every backend, from the cases that met contention."""
    found: dict[str, list[float]] = {}
    for block in _blocks():
        windows, calm, contended = _states(block)
        for column, arm in enumerate(block.arms):
            seen = ~np.isnan(windows[:, column])
            quiet, busy = windows[seen & calm, column], windows[seen & contended, column]
            if min(quiet.size, busy.size) >= FEWEST:
                found.setdefault(arm.backend, []).append(round(float(np.exp(np.median(busy) - np.median(quiet))), 3))
    return tuple(Contention(backend, tuple(sorted(factors))) for backend, factors in sorted(found.items()))


def modes() -> Modes:
    """Return how many launches of JAX's MLP are slow, and by how much."""
    levels = np.exp([np.mean(windows) for each in _latency().generations if (windows := _windows(each, "jax"))])
    slow = levels > SLOW_MODE * np.median(levels)
    return Modes(levels.size, int(slow.sum()), round(float(np.median(levels[slow]) / np.median(levels[~slow])), 2))


def _latency() -> Block:
    blocks = files.read(REPORTS / MODES).blocks
    (found,) = (block for block in blocks if (block.case.model, block.case.scenario) == ("mlp", "latency"))
    return found


def _windows(generation: Generation, arm: str) -> list[float]:
    """Return log medians of an arm's windows."""
    return [
        float(np.log(np.median(turn.window.samples_ns)))
        for one in generation.rounds
        for turn in one.turns
        if turn.arm == arm and turn.window is not None and turn.window.samples_ns
    ]


def _blocks() -> Iterator[Block]:
    for name in RECORDS:
        for block in files.read(REPORTS / name).blocks:
            if block.canary is not None and any(each.rounds for each in block.generations):
                yield block


def _states(block: Block) -> tuple[Floats, Floats, Floats]:
    """Return log medians of windows, shape (rounds, arms), and which rounds are calm and which are contended."""
    names = [*(arm.id for arm in block.arms), block.canary]
    table = np.full((sum(len(each.rounds) for each in block.generations), len(names)), np.nan)
    for row, one in enumerate(each for generation in block.generations for each in generation.rounds):
        for turn in one.turns:
            if turn.arm in names and turn.window is not None and turn.window.samples_ns:
                table[row, names.index(turn.arm)] = np.log(np.median(turn.window.samples_ns))
    level = np.exp(table[:, -1] - np.nanpercentile(table[:, -1], LOW))
    return table[:, :-1], level <= CALM, level >= CONTENDED


SEED = 43


class Simulated(commands.Record, frozen=True, kw_only=True):
    """The record: a function of the seed, of the number of runs, and of the records that the effects are from."""

    TRIAL = "simulation"

    seed: int
    runs: int
    contention: tuple[Contention, ...]
    modes: Modes
    study: Study


def simulate(seed: int, runs: int) -> Simulated:
    """Answer all questions."""
    return Simulated(
        schema=Simulated.SCHEMA, seed=seed, runs=runs, contention=contention(), modes=modes(), study=answer(seed, runs)
    )


def markdown(found: Simulated) -> str:
    """Return the record as Markdown."""
    return "\n".join(_lines(found))


def _lines(found: Simulated) -> Iterator[str]:
    study = found.study
    yield "# Simulation of the rules on a machine with two states\n"
    yield (
        f"{found.runs} runs of a block of seven arms for each hour, seed {found.seed}. The machine is contended "
        f"{_whole(world.QUIET)} of the time in a *quiet* hour and {_whole(world.BUSY)} in a *busy* one; stretches last "
        f"about a second, one in ten 5 to 15 s. Launches scatter by {_percent(world.LAUNCH_SD)} and windows by "
        f"{_percent(world.WINDOW_SD)} (Student's t3). A window is calm where both of its probes lie below "
        f"{world.LIMIT:.2f} of the low mode. Identical commands give identical figures.\n"
    )
    yield "## Effects, from published records\n"
    yield from table(
        ("backend", "contended over calm, by case:", "simulated:"),
        (
            (each.backend, ", ".join(f"{factor:.2f}" for factor in each.factors), f"{world.FACTORS[each.backend]:.2f}")
            for each in found.contention
        ),
    )
    yield f"\nRecords: {', '.join(RECORDS)}. A round is contended by its canary.\n"
    yield "## What is taken again, at equal time\n"
    yield from table(
        ("hour", "taken again", "spinning slows its window by:", "bias:", "sd of a launch's ratio:", "without a value:",
         "contended windows that count:", "95 % half width, 8 generations:"),
        (
            (each.hour, {"all windows": "nothing, all count"}.get(each.unit, each.unit), _whole(each.spin_slows),
             f"{100 * each.bias:+.2f} %", _percent(each.sd), _percent(each.missing), f"{100 * each.misses:.2f} %",
             "–" if each.half_width is None else _percent(each.half_width))
            for each in study.taking
        ),
    )  # fmt: skip
    yield "\n## Coverage of the calm ratio\n"
    yield from table(
        ("hour", "launches:", "intervals:", "of 95 % intervals:", "of 99 % intervals:"),
        (
            (each.hour, str(each.launches), str(each.intervals), _percent(each.at_95), _percent(each.at_99))
            for each in study.coverage
        ),
    )
    yield "\n## Half widths in a block of seven arms\n"
    yield (
        f"At 95 % together. *Strays*: launches that are {_whole(STRAY)} slower for a cause that no probe sees, "
        f"{_whole(STRAY_SHARE)} of all.\n"
    )
    yield from table(
        ("hour", "strays:", "launches:", "lead, median:", "lead, nine of ten:", "every arm, median:"),
        (
            (each.hour, _whole(each.strays), str(each.launches), _percent(each.lead), _percent(each.lead_9_of_10),
             _percent(each.every))
            for each in study.widths
        ),
    )  # fmt: skip
    yield "\n## Identical arms in a ranking\n"
    yield from table(
        ("hour", "launches:", "blocks:", "a twin called different:", "any of seven identical arms:"),
        (
            (each.hour, str(each.launches), str(each.blocks), _percent(each.twins), _percent(each.any_of_seven))
            for each in study.alarms
        ),
    )
    yield "\n## A slow mode\n"
    yield (
        f"JAX's MLP over torch's, quiet: {_whole(world.SLOW_MODE_SHARE)} of its launches take "
        f"{world.SLOW_MODE_FACTOR:.1f} × as long ({found.modes.slow} of {found.modes.launches} in {MODES}).\n"
    )
    yield from table(
        ("launches:", "intervals:", "hold the usual mode's ratio:", "95 % half width, median:", "nine of ten:"),
        (
            (str(each.launches), str(each.intervals), _percent(each.holds), _percent(each.half_width),
             _percent(each.half_width_9_of_10))
            for each in study.modes
        ),
    )  # fmt: skip
    yield "\n## Decisions of `ab`\n"
    yield from table(
        ("hour", "true change:", "strays:", "budget:", "trials:", "found:", "wrong:", "same:", "median time:"),
        (
            (each.hour, _whole(each.effect), _whole(each.strays), f"{each.budget_s:.0f} s", str(each.trials),
             "–" if each.found is None else _percent(each.found), _percent(each.wrong), _percent(each.same),
             f"{each.seconds:.0f} s")
            for each in study.decisions
        ),
    )  # fmt: skip
    yield "\n## What `upgrade` finds\n"
    yield (
        f"One arm of ONNX Runtime in each run, {BOOTS} runs a phase. A run is calm where "
        f"{MIN_LAUNCHES} of its launches have calm windows, and of all windows where not. Calm runs alone are "
        "judged, where each phase has enough of them.\n"
    )
    yield from table(
        ("hour", "launches of a run:", "calm runs:", "spread of runs:", "of calm ones:", "upgrades:",
         *(f"{slowdown} found:" for slowdown in SLOWDOWNS), "wrong where nothing changed:"),
        (
            (each.hour, str(each.launches), _percent(each.calm), _percent(each.spread), _percent(each.calm_spread),
             str(each.upgrades), *(_percent(each.found[slowdown]) for slowdown in SLOWDOWNS), _percent(each.wrong))
            for each in study.upgrades
        ),
    )  # fmt: skip


def _whole(value: float) -> str:
    return f"{100 * value:.0f} %"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


@click.command(context_settings=commands.SETTINGS)
@click.option("--seed", type=int, default=SEED, show_default=True, help="Of all draws.")
@click.option("--runs", type=click.IntRange(100), default=3000, show_default=True, help="Simulated runs of a block.")
@click.option("--only", type=click.Path(path_type=Path, exists=True), default=None, help="Render this record anew.")
@commands.out_option
def main(seed: int, runs: int, only: Path | None, out: Path | None) -> None:
    """Simulate how often the rules err where the machine has two states."""
    with commands.terminal() as listener:
        path = out or only or commands.default_path(Simulated.TRIAL)
        found = simulate(seed, runs) if only is None else commands.read(only, Simulated)
        commands.write(found, path, markdown(found) + "\n")
        listener.show(markdown(found))


if __name__ == "__main__":
    main()
