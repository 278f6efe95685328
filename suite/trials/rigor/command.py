"""False alarms and power, measured: Levelfield's rule beside those of other tools, on one stream of real windows.

`nox -s rigor` calls it. It launches many identical arms again and again, lets them take turns, and keeps everything.
Then each rule is given the part of the stream that its own schedule would have drawn. It wants a quiet machine for
three quarters of an hour; with `--busy` it starts a competing process itself.
"""

import datetime as dt
import math
import secrets
import shutil
import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from suite import __version__, plan
from suite.cli.options import DURATION, PERCENT
from suite.errors import LevelfieldError
from suite.launchers.docker import DockerLauncher, connect
from suite.machine.fingerprint import fingerprint
from suite.record.files import write_atomically
from suite.record.schema import Case
from suite.run.start import check_same
from suite.safety import terminals
from suite.schedule.outcomes import utc_now
from suite.schedule.preparation import prepare
from suite.statistics.power import Design, pair_sd, power
from suite.statistics.student import MIN_LAUNCHES, launches_for
from suite.trials.rigor import findings, measure, record, rules
from suite.trials.rigor.drift import between
from suite.trials.rigor.judged import again
from suite.trials.rigor.record import SCHEMA, Framework, Setup, Stream
from suite.trials.rigor.show import markdown, show
from suite.trials.rigor.table import lay_out
from suite.trials.telling import Lines

BUSY_SHARE = 0.5
MIN_CALLS = 3
LAUNCH_S, REST_S = 1.0, 0.07
"""A guess, for the first estimate: one arm's launch among many, and what a turn takes beyond its window."""
LAUNCH_SD, WINDOW_SD = 0.007, 0.024
"""Of ResNet-50 in ONNX Runtime on a shared two-core machine, windows of 0.2 s (a guess, too)."""


class Request(msgspec.Struct, frozen=True):
    """What the trial was asked for."""

    setup: Setup
    generations: int
    seconds: float
    out: Path
    resume: bool


def foresee(setup: Setup, generations: int, seconds: float) -> list[str]:
    """Say how long it will take, and what it will be able to show, before anything is measured."""
    arm_s = LAUNCH_S + setup.rounds * (setup.window_ns / 1e9 + REST_S)
    generation_s = arm_s * setup.arms
    there = min(generations, int(seconds // generation_s))
    lines = [_plan(setup, generations, generations * generation_s, seconds)]
    _, frozen = rules.newest()
    for size in frozen.launches.bench:
        design = Design(size, setup.rounds, LAUNCH_SD, WINDOW_SD)
        lines.append(
            f"Decisions of {size} generations ({2 * size * arm_s:.0f} s each): {there // size * (setup.arms // 2)}; "
            f"+2 % would be found in {power(0.02, design):.0%} at 95 % confidence, in "
            f"{power(0.02, design, alpha=0.01):.0%} at 99 %."
        )
    spread, stop = pair_sd(LAUNCH_SD, WINDOW_SD, setup.rounds), frozen.stop
    needed = launches_for(spread, stop.half_width, confidence=stop.confidence, sequential=True)
    if needed is not None:
        lines.append(
            f"Decisions until precise: {needed + 1} generations or so ({2 * (needed + 1) * arm_s:.0f} s), about "
            f"{there // (needed + 1) * (setup.arms // 2)} of them; where the budget of {stop.budget_s:.0f} s ends "
            f"them, about {int(there * 2 * arm_s // stop.budget_s) * (setup.arms // 2)}."
        )
    return lines


def _plan(setup: Setup, generations: int, expected_s: float, most_s: float) -> str:
    return (
        f"{setup.arms} arms × {generations} generations × {setup.rounds} rounds of {setup.window_ns / 1e9:g} s: about "
        f"{expected_s / 60:.0f} minutes if a launch takes {LAUNCH_S} s; at most {most_s / 60:.0f}."
    )


def run(request: Request, console: Console) -> Stream:
    """Measure, or go on measuring, and analyse.

    Raises
    ------
    LevelfieldError
        No engine answers, the record is there already or of something else, or nothing could be measured.
    """
    setup = request.setup
    before = _existing(request)
    chosen = _chosen(setup.case.model, setup.backends, setup.case.threads)
    launcher = DockerLauncher(connect())
    launcher.sweep()
    site = prepare(chosen, launcher, Lines(console))
    try:
        machine = fingerprint(site.cpus)
        stream = Stream(
            schema=SCHEMA,
            started=utc_now(),
            updated=utc_now(),
            tool_version=__version__,
            setup=setup,
            machine=machine,
            images=tuple(site.images.values()),
            artifacts=tuple(onnx.artifact for onnx in site.onnx.values()),
            rules_sha256=rules.newest()[0],
        )
        if before is not None:
            check_same(before.machine, machine)
            if {image.tag for image in before.images} != {image.tag for image in stream.images}:
                raise LevelfieldError("The images are not those the stream began with.", fix="Begin a new one.")
            stream = msgspec.structs.replace(
                before, resumed=(*before.resumed, utc_now()), findings=(), variance=None, frameworks=(), between=None
            )

        def keep(now: Stream) -> None:
            record.write(now, request.out)
            _tell(now, request, console)

        stream = measure.measure(stream, site, request.generations, keep, seconds=request.seconds)
    finally:
        shutil.rmtree(site.caches, ignore_errors=True)
    return analyse(stream, request.out)


def analyse(stream: Stream, out: Path) -> Stream:
    """Apply all rules to a stream, and write its record and the table beside it."""
    stream = judged(stream)
    record.write(stream, out)
    write_atomically(out.with_suffix(".md"), markdown(stream).encode())
    return stream


def judged(stream: Stream) -> Stream:
    """Apply the rules of a stream to it.

    Raises
    ------
    LevelfieldError
        It holds no complete generation, or was begun under rules that this version does not have.
    """
    frozen = rules.of(stream.rules_sha256)
    cpus = stream.setup.case.threads
    generations = again(stream.generations, cpus, frozen.disturbed.settling_ns)
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


def _existing(request: Request) -> Stream | None:
    shares = 2 * len(request.setup.backends)
    if request.setup.arms % shares:
        raise LevelfieldError(
            f"{request.setup.arms} arms are not pairs of each framework.",
            fix=f"Choose a multiple of {shares} with --arms.",
        )
    if not request.resume:
        if request.out.exists():
            raise LevelfieldError(
                f"{request.out} is there already.", fix="Go on with it (--resume), or name another file with --out."
            )
        return None
    before = record.read(request.out)
    if before.rules_sha256 and before.rules_sha256 != rules.newest()[0]:
        raise LevelfieldError(
            f"{request.out} was begun under other rules than the newest.",
            fix="Begin another file with --out.",
        )
    # The seed and whether a CPU is kept busy belong to the stream, as all the rest.
    if before.setup != msgspec.structs.replace(request.setup, seed=before.setup.seed):
        raise LevelfieldError(
            f"{request.out} was measured with other settings: {before.setup}.",
            fix="Give the same options, or begin another file with --out.",
        )
    return before


def _tell(now: Stream, request: Request, console: Console) -> None:
    last, count = now.generations[-1] if now.generations else None, len(now.generations)
    if last is None:
        return
    windows = [w for one in last.rounds for pair in one.pairs for w in pair.windows]
    took_s = (max(w.start_ns + w.wall_ns for w in windows) - last.start_ns) / 1e9
    launch_s = (last.launch_ns + last.warm_up_ns) / 1e9 / now.setup.arms
    console.print(
        f"[dim]generation {count} of {request.generations}: {took_s:.0f} s ({launch_s:.2f} s a launch), median call "
        f"{sorted(w.median_ns for w in windows)[len(windows) // 2] / 1e6:.3f} ms; "
        f"{(request.generations - count) * took_s / 60:.0f} minutes left[/]",
        highlight=False,
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option("--seed", type=int, default=None, help="Seed of the schedule; the record holds it.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Record; default: under reports/trials/.")
@click.option("--resume", is_flag=True, help="Go on with the record that --out names.")
@click.option("--analyse", "only", type=click.Path(path_type=Path), default=None, help="Only analyse this record anew.")
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
    seed: int | None,
    out: Path | None,
    resume: bool,
    only: Path | None,
    quick: bool,
) -> None:
    """Measure how often rules raise false alarms, and how often they find what is there."""
    console = terminals.console()
    try:
        if only is not None:
            show(analyse(record.read(only), only), console)
            return
        if quick:
            model, arms, rounds, window = "mlp", 4 if pair else 2, 2, 0.05
        share = busy_share if busy_share is not None else BUSY_SHARE if busy else 0.0
        first, second = _backends(backend, pair)
        setup = Setup(
            case=_case(model, (first, second) if second else (first,), threads),
            backend=first,
            against=second,
            arms=arms,
            rounds=rounds,
            window_ns=round(window * 1e9),
            min_calls=MIN_CALLS,
            seed=seed if seed is not None else secrets.randbits(63),
            canary=canary,
            busy_share=share,
        )
        request = Request(
            setup=setup,
            generations=2 if quick else math.ceil(decisions / (arms // 2)) * each,
            seconds=budget,
            out=out if out is not None else _name(setup),
            resume=resume,
        )
        request.out.parent.mkdir(parents=True, exist_ok=True)
        for line in foresee(setup, request.generations, request.seconds):
            console.print(escape(line), highlight=False)
        show(run(request, console), console)
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        sys.exit(2)
    console.print(f"Record: {escape(str(request.out))}", highlight=False, soft_wrap=True)


def _backends(backend: str, pair: str | None) -> tuple[str, str]:
    """Return the frameworks of a stream; the second is empty where there is one."""
    if pair is None:
        return backend, ""
    names = [name.strip() for name in pair.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise LevelfieldError(f"“{pair}” does not name two frameworks.", fix="For example --pair onnxruntime,openvino.")
    return names[0], names[1]


def _case(model: str, backends: tuple[str, ...], threads: int | None) -> Case:
    return _chosen(model, backends, threads).blocks[0].case


def _chosen(model: str, backends: tuple[str, ...], threads: int | None) -> plan.Plan:
    return plan.make(
        plan.Selection(
            profile="smoke",
            models=(model,),
            backends=backends,
            scenarios=("latency",),
            threads=() if threads is None else (threads,),
            control="none",
        )
    )


def _name(setup: Setup) -> Path:
    kind = ("-pair" if setup.against else "") + ("-busy" if setup.busy_share else "")
    return Path("reports/trials") / f"rigor-{dt.datetime.now(dt.UTC):%Y-%m-%d}{kind}.json"
