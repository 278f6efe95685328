"""The record: of every launch its levels, in the calm state and over all windows, so that all can be judged again."""

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from studies import commands
from suite.analysis import machine
from suite.analysis.launch_levels import by_state
from suite.record.journal import GenerationDone, TimeSpent
from suite.record.schema import Arm, Block, Fingerprint, Round, Run

DIGITS = 6
"""Of log levels: a millionth is far below any spread."""


class Level(msgspec.Struct, frozen=True, array_like=True):
    """Of one launch: logs of nanoseconds."""

    calm: float | None
    """Over its calm windows; None: none counts."""
    every: float | None
    """Over all windows, as if nothing had probed the machine."""
    calm_windows: int
    windows: int


class Taken(msgspec.Struct, frozen=True, array_like=True):
    """One generation of a pair."""

    seconds: float
    """The pair's share of the time that all pairs took together."""
    first: Level
    second: Level


class Pair(msgspec.Struct, frozen=True):
    """Two arms of their own, the second slowed down by `effect`."""

    backend: str
    effect: float
    generations: tuple[Taken, ...]


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    run: str
    """Its id."""
    started: str
    tool_version: str
    seed: int
    machine: Fingerprint
    images: tuple[str, ...]
    knowledge: str
    """What is known of the machine's states, as `suite.analysis.states` says it."""
    calm_share: float | None
    """Share of windows before which the probe was calm at once; None: nothing was probed."""
    pairs: tuple[Pair, ...]


class Streams(commands.Record, frozen=True, kw_only=True):
    """Streams of one case, of any hour and machine."""

    TRIAL = "streams"

    case: str
    streams: tuple[Stream, ...] = ()


def pairs_of(arms: tuple[Arm, ...]) -> Iterator[tuple[Arm, Arm]]:
    """Yield the pairs of a stream: neighbours."""
    return zip(arms[::2], arms[1::2], strict=True)


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
    """Reduce a run to its complete generations' levels; None where it has none."""
    (block,) = run.blocks
    whole = tuple(each for each in block.generations if each.complete)
    if not whole:
        return None
    block = msgspec.structs.replace(block, generations=whole)
    pairs = tuple(pairs_of(block.arms))
    states = machine.summarise(block, (), None)
    contended = states.contended_share if states is not None else None
    return Stream(
        run=run.id,
        started=run.started,
        tool_version=run.tool_version,
        seed=run.settings.seed,
        machine=run.machine,
        images=tuple(image.tag for image in run.images),
        knowledge=states.knowledge if states is not None else "not probed",
        calm_share=None if contended is None else round(1 - contended, 4),
        pairs=tuple(
            _pair(block, pair, {index: spent / len(pairs) for index, spent in seconds.items()}) for pair in pairs
        ),
    )


def _pair(block: Block, arms: tuple[Arm, Arm], seconds: Mapping[int, float]) -> Pair:
    first, second = _levels(_alone(block, arms))
    return Pair(
        backend=arms[0].backend,
        effect=float(arms[1].inject.removesuffix("%") or 0) / 100,
        generations=tuple(
            Taken(round(seconds[each.index], 3), *both)
            for each, *both in zip(block.generations, first, second, strict=True)
        ),
    )


def _alone(block: Block, arms: tuple[Arm, Arm]) -> Block:
    """Return the block that `ab` of these two arms would have measured."""
    kept = {arms[0].id, arms[1].id, block.canary}

    def round_(found: Round) -> Round:
        return msgspec.structs.replace(found, turns=tuple(turn for turn in found.turns if turn.arm in kept))

    generations = tuple(
        msgspec.structs.replace(each, rounds=tuple(map(round_, each.rounds))) for each in block.generations
    )
    return msgspec.structs.replace(block, arms=arms, generations=generations)


def _levels(block: Block) -> Iterator[list[Level]]:
    """Yield the levels of each arm, generation by generation."""
    states = by_state(block)
    for summary in states.everything.arms:
        calm, every = (found.compared[summary.arm.id] for found in (states.calm, states.everything))
        windows = {launch.generation: launch.windows for launch in summary.launches}
        yield [
            Level(
                _log(calm.get(each.index)),
                _log(every.get(each.index)),
                sum(window.state == "calm" for window in windows.get(each.index, ())),
                len(windows.get(each.index, ())),
            )
            for each in block.generations
        ]


def _log(level_ns: float | None) -> float | None:
    return None if level_ns is None else round(math.log(level_ns), DIGITS)
