"""False alarms and power, measured: Levelfield's rule beside those of other tools, on one stream of real windows.

It launches many identical arms again and again, lets them take turns, and keeps everything.
Then each rule is given the part of the stream that its own schedule would have drawn. It wants a quiet machine for
three quarters of an hour.
"""

import math
from pathlib import Path
from typing import Any

import click
import msgspec

from levelfield.errors import LevelfieldError
from levelfield.options.values import DURATION
from levelfield.plan import make
from levelfield.run.start import check_same
from levelfield.schedule.outcomes import utc_now
from levelfield.statistics.student import MIN_LAUNCHES
from studies import commands
from studies.commands import read, site_facts, write
from studies.rigor import findings, measure, rules
from studies.rigor.findings import markdown
from studies.rigor.record import Setup, Stream, lay_out

MIN_CALLS = 3


def run(
    setup: Setup, generations: int, seconds: float, out: Path, listener: commands.Terminal, *, resume: bool
) -> Stream:
    """Measure, or go on measuring, and analyse."""
    before = _existing(setup, out, resume=resume)
    selection = commands.selection((setup.case.model,), (setup.backend,), setup.case.threads)
    with commands.prepared(selection, listener) as (_, site):
        stream = Stream(
            **{"schema": Stream.SCHEMA, "started": utc_now(), "updated": utc_now(), **site_facts(site)},
            setup=setup,
            rules_sha256=rules.newest()[0],
        )
        if before is not None:
            check_same(before.machine, stream.machine)
            if {image.tag for image in before.images} != {image.tag for image in stream.images}:
                raise LevelfieldError("The images are not those the stream began with.", fix="Begin a new one.")
            stream = msgspec.structs.replace(before, resumed=(*before.resumed, utc_now()), findings=(), variance=None)

        def keep(now: Stream) -> None:
            write(now, out, indent=-1)
            if now.generations:
                listener.say(_progress(now, generations))

        stream = measure.measure(stream, site, generations, keep, seconds=seconds)
    return analyse(stream, out)


def analyse(stream: Stream, out: Path) -> Stream:
    """Apply all rules to a stream, and write its record and the table beside it."""
    stream = judge(stream)
    write(stream, out, markdown(stream), indent=-1)
    return stream


def judge(stream: Stream) -> Stream:
    """Return a stream with what every rule makes of it; disturbed rounds are those that were called so at the time."""
    if stream.setup.against:
        raise LevelfieldError("The stream is of two frameworks.", fix="Analyse it with the version that took it.")
    table = lay_out(stream.generations)
    found = findings.find(table, rules.of(stream.rules_sha256))
    return msgspec.structs.replace(stream, findings=found, variance=findings.variance(table))


def _existing(setup: Setup, out: Path, *, resume: bool) -> Stream | None:
    if setup.arms % 2:
        raise LevelfieldError(f"{setup.arms} arms are not pairs.", fix="Choose an even number with --arms.")
    if not resume:
        if out.exists():
            raise LevelfieldError(f"{out} is there already.", fix="Go on (--resume), or name another file with --out.")
        return None
    before = read(out, Stream)
    other = "Begin another file with --out."
    if before.rules_sha256 and before.rules_sha256 != rules.newest()[0]:
        raise LevelfieldError(f"{out} was begun under other rules than the newest.", fix=other)
    # The seed belongs to the stream, as all the rest.
    if before.setup != msgspec.structs.replace(setup, seed=before.setup.seed):
        raise LevelfieldError(f"{out} was measured with other settings: {before.setup}.", fix=other)
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
@click.option("--arms", type=click.IntRange(2), default=12, show_default=True, help="Identical arms; an even number.")
@click.option("--rounds", type=click.IntRange(2), default=5, show_default=True, help="Windows of each launch.")
@click.option("--window", type=click.FloatRange(0.01), default=0.2, show_default=True, help="Seconds in a window.")
@click.option("--decisions", type=click.IntRange(1), default=100, show_default=True, help="A/A decisions, at least.")
@click.option("--each", type=click.IntRange(MIN_LAUNCHES), default=MIN_LAUNCHES, help="Generations of a decision.")
@click.option("--budget", type=DURATION, default="60m", show_default=True, help="Most time to measure; then it ends.")
@click.option("--threads", type=int, default=None, help="Threads of every arm; default: one per core.")
@commands.seed_option
@commands.out_option
@click.option("--resume", is_flag=True, help="Go on with the record that --out names.")
@commands.analyse_option
@click.option("--quick", is_flag=True, help="Two arms, two generations, the MLP: it shows that all works, and no more.")
def main(
    out: Path | None,
    only: Path | None,
    decisions: int,
    each: int,
    budget: float,
    **requested: Any,  # noqa: ANN401
) -> None:
    """Measure how often rules raise false alarms, and how often they find what is there."""
    with commands.terminal() as listener:
        if only is not None:
            listener.show(markdown(analyse(read(only, Stream), only)))
            return
        resume, quick = requested.pop("resume"), requested.pop("quick")
        asked = requested | ({"model": "mlp", "arms": 2, "rounds": 2, "window": 0.05} if quick else {})
        generations = 2 if quick else math.ceil(decisions / (asked["arms"] // 2)) * each
        case = make(commands.selection((asked.pop("model"),), (asked["backend"],), asked.pop("threads"))).blocks[0].case
        window_ns = round(asked.pop("window") * 1e9)
        setup = Setup(case=case, window_ns=window_ns, min_calls=MIN_CALLS, canary=True, **asked)
        out = out or commands.default_path("rigor")
        listener.show(markdown(run(setup, generations, budget, out, listener, resume=resume)), out)


if __name__ == "__main__":
    main()
