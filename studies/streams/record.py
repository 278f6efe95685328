"""The record: levels of every launch, of calm windows and of all, so that everything can be judged again."""

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from levelfield.analysis.launch_levels import by_state
from levelfield.record.journal import GenerationDone, TimeSpent
from levelfield.record.schema import Block, Fingerprint, Run
from levelfield.record.states import knowledge, levels_of
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
    for arms in pairs:
        taken = zip(shares, *_levels(msgspec.structs.replace(block, arms=arms)), strict=True)
        effect = float(arms[1].inject.removesuffix("%") or 0) / 100
        yield Pair(arms[0].backend, effect, tuple(Taken(*each) for each in taken))


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
