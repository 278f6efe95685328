"""Measure a stream, and add it to the record."""

import math
import shutil
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import numpy as np

from levelfield import plan
from levelfield.analysis.launch_levels import by_state
from levelfield.compare.effects import from_pairs
from levelfield.compare.policy import change_policy, judge
from levelfield.compare.types import Gate
from levelfield.errors import LevelfieldError
from levelfield.plan import arms
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.journal import GenerationDone, TimeSpent
from levelfield.record.schema import Block, Fingerprint, Run
from levelfield.record.states import knowledge, levels_of
from levelfield.report.tables import markdown as table
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.schedule.pacing import FIRST_LOOK_S
from levelfield.schedule.run import RunInProgress
from levelfield.statistics.proportions import proportion
from levelfield.statistics.student import FIRST_LOOK, MIN_LAUNCHES, EndedBy, mean_of
from levelfield.statistics.verdicts import Verdict
from studies import commands


class Level(msgspec.Struct, frozen=True, array_like=True):
    """Of one launch: logs of nanoseconds, and what they rest on."""

    calm: float | None
    """Of its calm windows; None: none counts."""
    every: float | None
    """Of all windows, as if nothing had probed the machine."""
    calm_windows: int
    windows: int


class Taken(msgspec.Struct, frozen=True, array_like=True):
    """One generation of a pair."""

    seconds: float
    """The pair's share of the time that all pairs took."""
    first: Level
    second: Level


class Pair(msgspec.Struct, frozen=True):
    """Two arms of their own, the second slowed down by `effect`."""

    backend: str
    effect: float
    generations: tuple[Taken, ...]


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """What one run measured in its complete generations."""

    run: str
    """Its id."""
    started: str
    tool_version: str
    seed: int
    machine: Fingerprint
    images: tuple[str, ...]
    knowledge: str
    """What is known of the machine's states (`record.states`)."""
    calm_share: float | None
    """Share of probes in the low mode; None: nothing probed it."""
    pairs: tuple[Pair, ...]


class Streams(commands.Record, frozen=True, kw_only=True):
    """Streams of one case, of any hour and machine."""

    TRIAL = "streams"

    case: str
    streams: tuple[Stream, ...] = ()


def generation_seconds(events: Iterable[object]) -> dict[int, float]:
    """Return what each complete generation of a journal took, as `ab` counts its time."""
    found: dict[int, float] = {}
    spent_s = 0.0
    for event in events:
        if isinstance(event, TimeSpent):
            spent_s += sum(seconds for phase, seconds in event.seconds.items() if phase != "preparing")
        elif isinstance(event, GenerationDone):
            found[event.index], spent_s = spent_s, 0.0
    return found


def stream_of(run: Run, seconds: Mapping[int, float]) -> Stream | None:
    """Reduce a run to its levels; None where no generation is complete."""
    (block,) = run.blocks
    block = msgspec.structs.replace(block, generations=tuple(each for each in block.generations if each.complete))
    if not block.generations:
        return None
    levels = levels_of(block)
    return Stream(
        run=run.id,
        started=run.started,
        tool_version=run.tool_version,
        seed=run.settings.seed,
        machine=run.machine,
        images=tuple(image.tag for image in run.images),
        knowledge=knowledge(levels) if levels is not None else "not probed",
        calm_share=None if levels is None else round(levels.low_share, 4),
        pairs=tuple(_pairs(block, seconds)),
    )


def _pairs(block: Block, seconds: Mapping[int, float]) -> Iterator[Pair]:
    """Yield neighbours, each pair reduced as if `ab` had measured it alone."""
    pairs = list(zip(block.arms[::2], block.arms[1::2], strict=True))
    shares = [round(seconds[each.index] / len(pairs), 3) for each in block.generations]
    for both in pairs:
        taken = zip(shares, *_levels(msgspec.structs.replace(block, arms=both)), strict=True)
        effect = float(both[1].inject.removesuffix("%") or 0) / 100
        yield Pair(both[0].backend, effect, tuple(Taken(*each) for each in taken))


def _levels(block: Block) -> Iterator[list[Level]]:
    """Yield the levels of each arm, generation by generation."""
    states = by_state(block)
    for summary in states.everything.arms:
        calm, every = (found.compared[summary.arm.id] for found in (states.calm, states.everything))
        windows = {launch.generation: [one.state for one in launch.windows] for launch in summary.launches}
        yield [
            Level(_log(calm.get(index)), _log(every.get(index)), found.count("calm"), len(found))
            for index, found in ((each.index, windows.get(each.index, [])) for each in block.generations)
        ]


def _log(level_ns: float | None) -> float | None:
    return None if level_ns is None else round(math.log(level_ns), 6)


BUDGET = 36
"""Generations of a decision: those of `ab` within six minutes in the simulation."""


class Decision(NamedTuple):
    """How a decision ended."""

    verdict: Verdict
    generations: int
    seconds: float
    log_ratio: float | None
    """None: too few generations had both arms."""


def decisions(pair: Pair, *, states: bool) -> tuple[list[Decision], bool]:
    """Return the decisions on a pair, and whether the end of the stream cut one off.

    Parameters
    ----------
    pair
        With its levels.
    states
        Whether calm windows alone count, as in `ab`; else all of them.
    """
    made: list[Decision] = []
    first = 0
    for end in range(1, len(pair.generations) + 1):
        if found := decide(pair.generations[first:end], states=states):
            made.append(found)
            first = end
    return made, first < len(pair.generations)


def decide(taken: Sequence[Taken], *, states: bool) -> Decision | None:
    """Return what `ab` decides after the last of these generations; None: it goes on.

    Parameters
    ----------
    taken, states
        What was measured since the last decision; as in `decisions`.
    """
    seconds, spent = sum(each.seconds for each in taken), len(taken) >= BUDGET
    if len(taken) < FIRST_LOOK or (seconds < FIRST_LOOK_S and not spent):
        return None
    verdict, log_ratio = Verdict.UNDECIDED, None
    ratios = _ratios(taken, states=states)
    if len(ratios) >= FIRST_LOOK:
        effect = from_pairs(mean_of(np.array(ratios), EndedBy.VERDICT))
        (found,) = judge([effect], change_policy(Gate()))
        verdict, log_ratio = found.verdict, effect.log_ratio
    if verdict is Verdict.UNDECIDED and not spent:
        return None
    return Decision(verdict, len(taken), seconds, log_ratio)


def _ratios(taken: Sequence[Taken], *, states: bool) -> list[float]:
    arms = [each.first for each in taken], [each.second for each in taken]
    calm = states and not any(map(_is_starved, arms))
    levels = ((one.calm if calm else one.every for one in each) for each in zip(*arms, strict=True))
    return [second - first for first, second in levels if first is not None and second is not None]


def _is_starved(launches: Sequence[Level]) -> bool:
    """Return whether an arm lacks calm launches, by the rule of `analysis.launch_levels`."""
    measured = [each for each in launches if each.windows]
    calm = sum(each.calm_windows > 0 for each in measured)
    return calm < MIN_LAUNCHES <= len(measured) or (calm == 0 and bool(measured))


def is_wrong(verdict: Verdict, effect: float) -> bool:
    """Return whether a verdict is false: an effect within the margin may be called *same* or *slower*."""
    return (
        verdict is Verdict.FASTER
        or (verdict is Verdict.SLOWER and effect == 0)
        or (verdict is Verdict.SAME and effect >= Gate().margin)
    )


def markdown(record: Streams) -> str:
    """Return the tables of a record."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Streams) -> Iterator[str]:
    yield f"# Decisions of `ab` in streams: {record.case}\n"
    yield (
        "The rule of `ab` is applied to each pair after every generation. The next decision begins with the generation "
        f"after a verdict, or after {BUDGET} generations; what the end of a stream cuts off is none. Seconds are the "
        "pair's share of the time that all pairs took.\n"
    )
    yield "## Streams\n"
    yield from table(
        ("started", "processor", "minutes:", "generations:", "calm probes:", "states"),
        (
            (
                each.started,
                str(each.machine.get("cpu", {}).get("model", "unknown")),
                f"{sum(one.seconds for pair in each.pairs for one in pair.generations) / 60:.0f}",
                str(len(each.pairs[0].generations)),
                "–" if each.calm_share is None else f"{100 * each.calm_share:.0f} %",
                each.knowledge,
            )
            for each in record.streams
        ),
    )
    pairs = [pair for stream in record.streams for pair in stream.pairs]
    kinds = sorted({(pair.backend, pair.effect) for pair in pairs})
    found = {
        (states, *kind): [decisions(pair, states=states) for pair in pairs if (pair.backend, pair.effect) == kind]
        for states, kind in product((True, False), kinds)
    }
    made = {key: [each for one, _ in of_pairs for each in one] for key, of_pairs in found.items()}
    yield "\n## Decisions\n"
    yield from table(
        ("windows", "backend", "effect:", "decisions:", "same:", "slower:", "faster:", "not decided:", "wrong:",
         "cut off:", "generations, median:", "seconds, median:", "mean error:"),
        (
            ("calm" if states else "all", backend, f"{100 * effect:.0f} %",
             *_cells(made[states, backend, effect], effect, sum(cut_off for _, cut_off in of_pairs)))
            for (states, backend, effect), of_pairs in found.items()
            if made[states, backend, effect]
        ),
    )  # fmt: skip
    yield (
        f"\n*Wrong*: identical arms called different, an effect of the margin ({100 * Gate().margin:.0f} %) or more "
        "called same, or any called faster. What has no decision has no row. Goals, with calm windows and exact 95 % "
        "intervals:\n"
    )
    none = [not made_of for (states, *_), of_pairs in found.items() if states for made_of, _ in of_pairs]
    yield f"- No decision when a stream ended: {sum(none)} of {len(pairs)} pairs."
    calm = [(effect, each.verdict) for (states, _, effect), some in made.items() if states for each in some]
    yield f"- 5 % called slower, at least 95 %: {_share([one is Verdict.SLOWER for e, one in calm if e == 0.05])}"
    yield f"- Identical arms called different, none: {_share([is_wrong(one, e) for e, one in calm if e == 0])}"


def _cells(made: Sequence[Decision], effect: float, cut_off: int) -> Iterator[str]:
    yield str(len(made))
    for verdict in (Verdict.SAME, Verdict.SLOWER, Verdict.FASTER, Verdict.UNDECIDED):
        yield str(sum(each.verdict is verdict for each in made))
    yield from (str(sum(is_wrong(each.verdict, effect) for each in made)), str(cut_off))
    yield f"{statistics.median(each.generations for each in made):g}" if made else "–"
    yield f"{statistics.median(each.seconds for each in made):.0f}" if made else "–"
    errors = [each.log_ratio - math.log1p(effect) for each in made if each.log_ratio is not None]
    yield f"{100 * statistics.fmean(errors):+.2f} %" if errors else "–"


def _share(hits: Sequence[bool]) -> str:
    if not hits:
        return "no decision."
    return f"{commands.share(proportion(sum(hits), len(hits)))}."


BACKENDS = ("onnxruntime", "openvino")
INJECTED = ("", "1%", "2%", "5%")
"""Into the second arm of a pair."""


def planned(model: str) -> plan.Plan:
    """Plan the pairs, neighbours in the order of the arms."""
    chosen = [
        msgspec.structs.replace(arms.parse(backend), inject=amount)
        for backend in BACKENDS
        for injected in INJECTED
        for amount in ("", injected)
    ]
    selected = plan.Selection(models=(model,), scenarios=("latency",))
    return plan.with_timed_launches(plan.several(selected, chosen), 1)


def measure(chosen: plan.Plan, seconds: float, seed: int, folder: Path, terminal: commands.Terminal) -> None:
    """Measure generations for some time, and leave the run's journal in a folder of its own."""
    options = Options(reports=folder, budget_seconds=seconds, ends_on_verdict=True, seed=seed)
    with commands.prepared(chosen, terminal) as (_, resources):
        begun = start_run(chosen, options, resources)
        never = {block.case.id: "a stream is judged afterwards" for block in chosen.blocks}
        RunInProgress(begun, resources, terminal, undecided=lambda _: never).measure()


def collect(record: Streams, folder: Path, out: Path) -> Streams:
    """Add the runs in a folder to a record, finished or cut off; write it, and remove them."""
    known = {stream.run for stream in record.streams}
    for path in sorted(folder.glob(f"*/{JOURNAL}")):
        with journal.Journal(path):  # refused where another process is measuring
            events = journal.read(path)
        stream = stream_of(journal.fold(events), generation_seconds(events))
        if stream is not None and stream.run not in known:
            record = msgspec.structs.replace(record, streams=(*record.streams, stream))
    commands.write(record, out, markdown(record), indent=-1)
    shutil.rmtree(folder, ignore_errors=True)
    return record


@click.command(context_settings=commands.SETTINGS)
@click.option("--minutes", type=click.FloatRange(0), default=20, show_default=True, help="0: only write the tables.")
@click.option("--model", default="resnet50", show_default=True, help="Its latency is measured.")
@commands.seed_option
@commands.out_option
def main(minutes: float, model: str, seed: int, out: Path | None) -> None:
    """Measure a stream of pairs and add it to the newest record, after what an interrupted one has left."""
    with commands.terminal() as terminal:
        out = out or max(commands.FOLDER.glob("streams-*.json"), default=commands.default_path(Streams.TRIAL))
        chosen = planned(model)
        case = chosen.blocks[0].case.id
        record = commands.read(out, Streams) if out.exists() else Streams(schema=Streams.SCHEMA, case=case)
        if record.case != case:
            raise LevelfieldError(f"{out} is of {record.case}, not of {case}.", fix="Name another file with --out.")
        folder = out.with_suffix(".unfinished")
        record = collect(record, folder, out)
        try:
            if minutes:
                measure(chosen, 60 * minutes, seed, folder, terminal)
        finally:
            record = collect(record, folder, out)
        terminal.show(markdown(record), out)


if __name__ == "__main__":
    main()
