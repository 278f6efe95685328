"""False alarms and power, measured: Levelfield's rule beside those of other tools, on one stream of real windows.

It launches many identical arms again and again, lets them take turns, and keeps everything.
Then each rule is given the part of the stream that its own schedule would have drawn. It wants a quiet machine for
three quarters of an hour; with `--busy` it starts a competing process itself.
"""

import math
from pathlib import Path

import click
import msgspec

from studies import commands
from studies.record import read, site_facts, write
from studies.rigor import findings, measure, rules, sequential, sequential_record
from studies.rigor.disturbance import judge_again
from studies.rigor.drift import between
from studies.rigor.record import Framework, Setup, Stream
from studies.rigor.show import markdown
from studies.rigor.table import lay_out
from suite.cli.options import DURATION, PERCENT
from suite.errors import LevelfieldError
from suite.plan import make
from suite.run.start import check_same
from suite.schedule.outcomes import utc_now
from suite.statistics.ending import EndedBy
from suite.statistics.power import Design, pair_sd, power
from suite.statistics.student import MIN_LAUNCHES, launches_for

BUSY_SHARE = 0.5
MIN_CALLS = 3
LAUNCH_S, REST_S = 1.0, 0.07
"""A guess, for the first estimate: one arm's launch among many, and what a turn takes beyond its window."""
LAUNCH_SD, WINDOW_SD = 0.007, 0.024
"""Of ResNet-50 in ONNX Runtime on a shared two-core machine, windows of 0.2 s (a guess, too)."""


def foresee(setup: Setup, generations: int, seconds: float) -> list[str]:
    """Return how long a stream will take, and what it will be able to show, before anything is measured.

    Parameters
    ----------
    setup : Setup
        What is measured.
    generations : int
        How many are planned.
    seconds : float
        Most time to measure.

    Returns
    -------
    list of str
        Lines.
    """
    arm_s = LAUNCH_S + setup.rounds * (setup.window_ns / 1e9 + REST_S)
    generation_s = arm_s * setup.arms
    there = min(generations, int(seconds // generation_s))
    first = (
        f"{setup.arms} arms × {generations} generations × {setup.rounds} rounds of {setup.window_ns / 1e9:g} s: about "
        f"{generations * generation_s / 60:.0f} minutes if a launch takes {LAUNCH_S} s; at most {seconds / 60:.0f}."
    )
    lines = [first]
    _, frozen = rules.newest()
    for size in frozen.launches.bench:
        design = Design(size, setup.rounds, LAUNCH_SD, WINDOW_SD)
        lines.append(
            f"Decisions of {size} generations ({2 * size * arm_s:.0f} s each): {there // size * (setup.arms // 2)}; "
            f"+2 % would be found in {power(0.02, design):.0%} at 95 % confidence, in "
            f"{power(0.02, design, alpha=0.01):.0%} at 99 %."
        )
    spread, stop = pair_sd(LAUNCH_SD, WINDOW_SD, setup.rounds), frozen.stop
    needed = launches_for(spread, stop.half_width, confidence=stop.confidence, ended=EndedBy.PRECISION)
    if needed is not None:
        lines.append(
            f"Decisions until precise: {needed + 1} generations or so ({2 * (needed + 1) * arm_s:.0f} s), about "
            f"{there // (needed + 1) * (setup.arms // 2)} of them; where the budget of {stop.budget_s:.0f} s ends "
            f"them, about {int(there * 2 * arm_s // stop.budget_s) * (setup.arms // 2)}."
        )
    return lines


def run(
    setup: Setup, generations: int, seconds: float, out: Path, listener: commands.Terminal, *, resume: bool
) -> Stream:
    """Measure, or go on measuring, and analyse.

    Parameters
    ----------
    setup : Setup
        What is measured.
    generations : int
        How many the stream is to have.
    seconds : float
        Most time to measure.
    out : Path
        Where the record is written after every generation.
    listener : commands.Terminal
        Display of the progress.
    resume : bool
        Whether to go on with the record that is there.

    Returns
    -------
    Stream

    Raises
    ------
    LevelfieldError
        No engine answers, the record is there already or of something else, or nothing could be measured.
    """
    before = _existing(setup, out, resume=resume)
    selection = commands.selection((setup.case.model,), setup.backends, setup.case.threads)
    with commands.prepared(selection, listener) as (_, site):
        stream = Stream(
            **site_facts(site),
            schema=Stream.SCHEMA,
            started=utc_now(),
            updated=utc_now(),
            setup=setup,
            rules_sha256=rules.newest()[0],
        )
        if before is not None:
            check_same(before.machine, stream.machine)
            if {image.tag for image in before.images} != {image.tag for image in stream.images}:
                raise LevelfieldError("The images are not those the stream began with.", fix="Begin a new one.")
            stream = msgspec.structs.replace(
                before, resumed=(*before.resumed, utc_now()), findings=(), variance=None, frameworks=(), between=None
            )

        def keep(now: Stream) -> None:
            write(now, out, indent=-1)
            if now.generations:
                listener.say(_progress(now, generations))

        stream = measure.measure(stream, site, generations, keep, seconds=seconds)
    return analyse(stream, out)


def analyse(stream: Stream, out: Path) -> Stream:
    """Apply all rules to a stream, and write its record and the table beside it.

    Parameters
    ----------
    stream : Stream
        What was measured.
    out : Path
        File of the record.

    Returns
    -------
    Stream
        With its findings.
    """
    stream = judge(stream)
    write(stream, out, markdown(stream), indent=-1)
    return stream


def judge(stream: Stream) -> Stream:
    """Apply the rules of a stream to it.

    Raises
    ------
    LevelfieldError
        It holds no complete generation, or was begun under rules that this version does not have.
    """
    frozen = rules.of(stream.rules_sha256)
    cpus = stream.setup.case.threads
    generations = judge_again(stream.generations, cpus, frozen.settling_ns)
    table = lay_out(generations)
    backends = stream.setup.backends
    share = table.lanes // len(backends)
    parts = [(each, table.part(slice(k * share, (k + 1) * share))) for k, each in enumerate(backends)]
    several = len(backends) > 1
    return msgspec.structs.replace(
        stream,
        generations=generations,
        findings=findings.find(table, frozen),
        variance=None if several else findings.variance(table),
        frameworks=tuple(Framework(each, findings.find(part, frozen)) for each, part in parts) if several else (),
        between=between(table, frozen) if several else None,
    )


def _existing(setup: Setup, out: Path, *, resume: bool) -> Stream | None:
    shares = 2 * len(setup.backends)
    if setup.arms % shares:
        raise LevelfieldError(
            f"{setup.arms} arms are not pairs of each framework.",
            fix=f"Choose a multiple of {shares} with --arms.",
        )
    if not resume:
        if out.exists():
            raise LevelfieldError(
                f"{out} is there already.", fix="Go on with it (--resume), or name another file with --out."
            )
        return None
    before = read(out, Stream)
    if before.rules_sha256 and before.rules_sha256 != rules.newest()[0]:
        raise LevelfieldError(
            f"{out} was begun under other rules than the newest.",
            fix="Begin another file with --out.",
        )
    # The seed and whether a CPU is kept busy belong to the stream, as all the rest.
    if before.setup != msgspec.structs.replace(setup, seed=before.setup.seed):
        raise LevelfieldError(
            f"{out} was measured with other settings: {before.setup}.",
            fix="Give the same options, or begin another file with --out.",
        )
    return before


def _progress(stream: Stream, generations: int) -> str:
    last, count = stream.generations[-1], len(stream.generations)
    windows = [w for one in last.rounds for pair in one.pairs for w in pair.windows]
    took_s = (max(w.start_ns + w.wall_ns for w in windows) - last.start_ns) / 1e9
    launch_s = (last.launch_ns + last.warm_up_ns) / 1e9 / stream.setup.arms
    return (
        f"generation {count} of {generations}: {took_s:.0f} s ({launch_s:.2f} s a launch), median call "
        f"{sorted(w.median_ns for w in windows)[len(windows) // 2] / 1e6:.3f} ms; "
        f"{(generations - count) * took_s / 60:.0f} minutes left"
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--model", default="resnet50", show_default=True)
@click.option("--backend", default="onnxruntime", show_default=True)
@click.option(
    "--pair",
    default=None,
    metavar="BACKEND,BACKEND",
    help="Two frameworks in one stream, half of the arms of each: decisions within each, and the drift between them.",
)
@click.option("--arms", type=click.IntRange(2), default=12, show_default=True, help="Identical arms; an even number.")
@click.option("--rounds", type=click.IntRange(2), default=5, show_default=True, help="Windows of each launch.")
@click.option("--window", type=click.FloatRange(0.01), default=0.2, show_default=True, help="Seconds in a window.")
@click.option("--decisions", type=click.IntRange(1), default=100, show_default=True, help="A/A decisions, at least.")
@click.option(
    "--each",
    type=click.IntRange(MIN_LAUNCHES),
    default=MIN_LAUNCHES,
    show_default=True,
    help="Generations of each of these decisions; longer ones get fewer.",
)
@click.option("--budget", type=DURATION, default="60m", show_default=True, help="Most time to measure; then it ends.")
@click.option("--busy", is_flag=True, help="Keep one CPU busy half of the time, by a process that the trial starts.")
@click.option("--busy-share", type=PERCENT, default=None, help="The same, for another share of the time.")
@click.option("--canary/--no-canary", default=True, help="Let the canary take a turn in every round.")
@click.option("--threads", type=int, default=None, help="Threads of every arm; default: one per core.")
@commands.seed_option
@commands.out_option
@click.option("--resume", is_flag=True, help="Go on with the record that --out names.")
@commands.analyse_option
@click.option(
    "--sequential",
    "streams",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="RECORD",
    help="Measure nothing: replay the rule that ends `ab` on these streams, and simulate it from their variance.",
)
@click.option("--quick", is_flag=True, help="Two arms, two generations, the MLP: it shows that all works, and no more.")
def main(
    model: str,
    backend: str,
    pair: str | None,
    arms: int,
    rounds: int,
    window: float,
    decisions: int,
    each: int,
    budget: float,
    busy: bool,
    busy_share: float | None,
    canary: bool,
    threads: int | None,
    seed: int,
    out: Path | None,
    resume: bool,
    only: Path | None,
    streams: tuple[Path, ...],
    quick: bool,
) -> None:
    """Measure how often rules raise false alarms, and how often they find what is there."""
    with commands.terminal() as listener:
        if only is not None:
            listener.show(markdown(analyse(read(only, Stream), only)))
            return
        if streams:
            out = out or commands.default_path("sequential")
            found = sequential.trial(streams, seed)
            write(found, out, sequential_record.markdown(found), indent=-1)
            listener.show(sequential_record.markdown(found), out)
            return
        if quick:
            model, arms, rounds, window = "mlp", 4 if pair else 2, 2, 0.05
        backends = _backends(backend, pair)
        setup = Setup(
            case=make(commands.selection((model,), backends, threads)).blocks[0].case,
            backend=backends[0],
            against=backends[1] if pair else "",
            arms=arms,
            rounds=rounds,
            window_ns=round(window * 1e9),
            min_calls=MIN_CALLS,
            seed=seed,
            canary=canary,
            busy_share=busy_share if busy_share is not None else BUSY_SHARE if busy else 0.0,
        )
        generations = 2 if quick else math.ceil(decisions / (arms // 2)) * each
        kind = ("-pair" if pair else "") + ("-busy" if setup.busy_share else "")
        out = out or commands.default_path("rigor", kind)
        for line in foresee(setup, generations, budget):
            listener.say(line)
        listener.show(markdown(run(setup, generations, budget, out, listener, resume=resume)), out)


def _backends(backend: str, pair: str | None) -> tuple[str, ...]:
    """Return the one framework of a stream, or two."""
    if pair is None:
        return (backend,)
    names = tuple(name.strip() for name in pair.split(","))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise LevelfieldError(f"“{pair}” does not name two frameworks.", fix="For example --pair onnxruntime,openvino.")
    return names
