"""How often the rules err on a machine with two states: simulated, in some minutes, without measuring anything.

Its effects are those of default runs of November 2026: by how much contention slows every arm, and what modes JAX's MLP
has. A round was *contended* where the canary took at least 1.15 of its low level in that block, and *calm* where it
took at most 1.07; what lay between was left out. The canary is one window among those of its round, and a state may
change within a round: so factors are, if anything, too small.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from levelfield.report.tables import markdown as table
from levelfield.statistics.student import MIN_LAUNCHES
from studies import commands
from studies.simulation import world
from studies.simulation.study import BOOTS, SLOWDOWNS, STRAY, STRAY_SHARE, Study, answer

RECORDS = ("20261121-163925-standard-22a3", "20261124-213024-standard-a2f1")
"""Default runs of all backends, which the effects were taken from (in the history of this repository)."""


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


CONTENTION = (
    Contention("jax", (1.086, 1.091, 1.151, 1.175, 1.303, 1.343)),
    Contention("onnxruntime", (1.027, 1.082, 1.082, 1.084, 1.121, 1.125, 1.493)),
    Contention("openvino", (1.043, 1.06, 1.069, 1.099, 1.106)),
    Contention("tensorflow", (1.067, 1.11, 1.175, 1.231, 1.234, 1.241)),
    Contention("tensorflow-xla", (1.037, 1.06, 1.218, 1.312, 1.334, 1.439)),
    Contention("torch", (1.033, 1.06, 1.159, 1.3, 1.328, 1.363)),
    Contention("torch-compile", (1.025, 1.033, 1.061, 1.08, 1.175, 1.308)),
)
SLOW_LAUNCHES = Modes(68, 8, 2.71)
MODES = "20261125-204614-standard-1627"
"""The run that they were taken from."""
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
        schema=Simulated.SCHEMA,
        seed=seed,
        runs=runs,
        contention=CONTENTION,
        modes=SLOW_LAUNCHES,
        study=answer(seed, runs),
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
        ("hour", "strays:", "launches:", "lead, median:", "lead, nine of ten:", "every arm, median:",
         "all hold:"),
        (
            (each.hour, _whole(each.strays), str(each.launches), _percent(each.lead), _percent(each.lead_9_of_10),
             _percent(each.every), _percent(each.together))
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
