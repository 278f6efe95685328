"""Fewer samples, evenly taken, so that a record fits into the page that shows it.

Projections of outputs inside a page: each once, and put back beside every launch with the same output.

Every launch of an arm computes the same answer, and the record keeps 64 numbers of it each time. Their digits hardly
compress, so that repeating them took half of the record inside a page.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

import msgspec

from levelfield.analysis import collect
from levelfield.record.schema import Block, Generation, Launch, Parity, Round, Run, Turn, Window


def without_repeats(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Leave out the projections that an earlier launch with the same output has."""
    first: dict[str, tuple[float, ...]] = {}

    def kept(parity: Parity) -> tuple[float, ...]:
        if parity.output_sha256 not in first:
            first[parity.output_sha256] = parity.projection
            return parity.projection
        return () if parity.projection == first[parity.output_sha256] else parity.projection

    return _with_projections(blocks, kept)


def with_repeats(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Put the projections back that `once` left out."""
    first: dict[str, tuple[float, ...]] = {}

    def full(parity: Parity) -> tuple[float, ...]:
        known = first.setdefault(parity.output_sha256, parity.projection)
        return parity.projection or known

    return _with_projections(blocks, full)


def _with_projections(blocks: Iterable[Block], chosen: Callable[[Parity], tuple[float, ...]]) -> tuple[Block, ...]:
    """Return blocks whose launches have the projections that are chosen, from the first launch to the last."""
    return tuple(
        msgspec.structs.replace(
            block,
            generations=tuple(
                msgspec.structs.replace(
                    generation,
                    launches=tuple(
                        launch
                        if launch.parity is None
                        else msgspec.structs.replace(
                            launch, parity=msgspec.structs.replace(launch.parity, projection=chosen(launch.parity))
                        )
                        for launch in generation.launches
                    ),
                )
                for generation in block.generations
            ),
        )
        for block in blocks
    )


SAMPLES_PER_RESULT = 5_000
"""Most samples of one result that travel inside a page; all of them are in the record beside it."""

FEWEST = 250
"""Not even a very large run keeps fewer samples of a result than this."""

BUDGET_BYTES = 1_000_000
"""What the record inside a page may take before fewer samples are kept; packed it is about a quarter of that, so that
the page of a standard run stays below 600 KiB."""


WindowKey: TypeAlias = tuple[str, int, int, int]
"""Key of a window in its block: arm, generation, round, and its number among the arm's in that round, from 0."""


class WindowFacts(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Facts of a thinned window before it was thinned, so that every figure can be recomputed from the page alone."""

    arm: str
    generation: int
    round: int
    calls: int
    median_ns: float
    rewarm_calls: int = 0
    attempt: int = 0
    """Its number among those of the arm in that round."""


class Tail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Upper quantiles over all calls of a result: they do not follow from fewer samples."""

    p90_ns: float | None = None
    p99_ns: float | None = None


class Thinned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many samples of a result were kept, of how many."""

    result: str
    kept: int
    of: int
    windows: tuple[WindowFacts, ...]
    tail: Tail = Tail()


class Embedded(msgspec.Struct, frozen=True):
    """The record as it travels inside a page."""

    record_sha256: str
    """Digest of the whole record's file."""
    cap: int
    """Most samples of one result kept."""
    record: Run
    thinned: tuple[Thinned, ...]
    projections_once: bool = False
    """Whether a projection that an earlier launch has already is left out of later ones with the same output."""


def embed(
    run: Run, record_sha256: str, budget_bytes: int = BUDGET_BYTES, tails: Mapping[str, Tail] | None = None
) -> tuple[Embedded, bytes]:
    """Thin a record for its page, and encode it as JSON without what a reader fills in by itself.

    `budget_bytes`: most that the JSON may take, in bytes; the cap of samples is halved until it fits, or is `FEWEST`.
    """
    cap = SAMPLES_PER_RESULT
    while True:
        embedded = thin(run, record_sha256, cap, tails)
        content = msgspec.json.encode(without_defaults(embedded))
        if len(content) <= budget_bytes or cap == FEWEST:
            return embedded, content
        cap = max(FEWEST, cap // 2)


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Resolve the annotations of a type once: that takes longer than all else of a page."""
    return msgspec.structs.fields(kind)


def without_defaults(value: object) -> object:
    """Turn structs into dictionaries that leave out every field that holds its default.

    What is written like this stays the same when a later version adds a field.
    """
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        if config.array_like:
            return value
        fields: dict[str, object] = {} if config.tag is None else {str(config.tag_field): config.tag}
        for field in _fields(type(value)):
            held = getattr(value, field.name)
            default = field.default_factory() if callable(field.default_factory) else field.default
            if type(held) is not type(default) or held != default:
                fields[field.encode_name] = without_defaults(held)
        return fields
    if isinstance(value, dict):
        return {name: without_defaults(held) for name, held in value.items()}
    if isinstance(value, tuple) and value and not isinstance(value[0], int | float | str):
        return [without_defaults(held) for held in value]
    return value


def thin(
    run: Run,
    record_sha256: str,
    cap: int = SAMPLES_PER_RESULT,
    tails: Mapping[str, Tail] | None = None,
    *,
    projections_once: bool = True,
) -> Embedded:
    """Keep at most about `cap` samples of each result, evenly spaced within every window.

    Each window keeps its share, and at least one sample, so that a result with more windows than `cap` keeps one
    of each. Calls made before the windows and during warm-up are thinned by the same factor. A record with no more
    samples than that stays whole.

    `tails`: upper quantiles by result id, to travel with the results that are thinned; None: none.
    """
    blocks: list[Block] = []
    notes: list[Thinned] = []
    for block in run.blocks:
        totals = _totals(block)
        factors = {arm: cap / total for arm, total in totals.items() if total > cap}
        if not factors:
            blocks.append(block)
            continue
        blocks.append(_thin_block(block, factors))
        notes.extend(_note(block, arm, factor, tails or {}) for arm, factor in factors.items())
    once = projections_once and bool(notes)
    return Embedded(
        record_sha256=record_sha256,
        cap=cap,
        record=msgspec.structs.replace(run, blocks=without_repeats(blocks) if once else tuple(blocks)),
        thinned=tuple(notes),
        projections_once=once,
    )


def _totals(block: Block) -> Counter[str]:
    """Count all the times that each arm's windows hold, warm-up included."""
    totals: Counter[str] = Counter()
    for _, launch in collect.launches(block):
        totals[launch.arm] += sum(map(_size, launch.warmup))
    for *_, turn in collect.turns(block):
        totals[turn.arm] += _size(turn.window) if turn.window is not None else 0
    return totals


def _size(window: Window) -> int:
    return len(window.samples_ns) + len(window.rewarm_ns)


def _note(block: Block, arm: str, factor: float, tails: Mapping[str, Tail]) -> Thinned:
    windows = [(key, window) for key, window in keyed_windows(block) if key[0] == arm]
    result = f"{arm}/{block.case.id}"
    return Thinned(
        result=result,
        kept=sum(len(evenly(window.samples_ns, factor)) for _, window in windows),
        of=sum(len(window.samples_ns) for _, window in windows),
        windows=tuple(
            WindowFacts(
                arm,
                generation,
                number,
                len(window.samples_ns),
                # A window that holds a time of nothing counts nowhere, and is to count nowhere when it is thinned.
                float(statistics.median(window.samples_ns)) if min(window.samples_ns) > 0 else 0.0,
                len(window.rewarm_ns),
                attempt,
            )
            for (_, generation, number, attempt), window in windows
            if window.samples_ns
        ),
        tail=tails.get(result, Tail()),
    )


def _thin_block(block: Block, factors: Mapping[str, float]) -> Block:
    def thin_window(arm: str, window: Window) -> Window:
        if arm not in factors:
            return window
        samples, rewarm = (evenly(values, factors[arm]) for values in (window.samples_ns, window.rewarm_ns))
        return msgspec.structs.replace(window, samples_ns=samples, rewarm_ns=rewarm)

    def thin_warmup(launch: Launch) -> Launch:
        warmup = tuple(thin_window(launch.arm, window) for window in launch.warmup)
        return msgspec.structs.replace(launch, warmup=warmup)

    thinned = replace_windows(block, lambda key, window: thin_window(key[0], window))
    generations = tuple(
        msgspec.structs.replace(generation, launches=tuple(map(thin_warmup, generation.launches)))
        for generation in thinned.generations
    )
    return msgspec.structs.replace(thinned, generations=generations)


def replace_windows(block: Block, change: Callable[[WindowKey, Window], Window]) -> Block:
    """Return a block with other windows in its turns."""

    def rounds(generation: Generation) -> Iterator[Round]:
        for round_ in generation.rounds:
            attempts: Counter[str] = Counter()
            turns: list[Turn] = []
            for turn in round_.turns:
                key = (turn.arm, generation.index, round_.index, attempts[turn.arm])
                attempts[turn.arm] += 1
                changed = None if turn.window is None else change(key, turn.window)
                turns.append(msgspec.structs.replace(turn, window=changed))
            yield msgspec.structs.replace(round_, turns=tuple(turns))

    generations = (
        msgspec.structs.replace(generation, rounds=tuple(rounds(generation))) for generation in block.generations
    )
    return msgspec.structs.replace(block, generations=tuple(generations))


def keyed_windows(block: Block) -> Iterator[tuple[WindowKey, Window]]:
    """Yield the windows of a block's turns with their keys, in order."""
    for generation in block.generations:
        for round_ in generation.rounds:
            attempts: Counter[str] = Counter()
            for turn in round_.turns:
                if turn.window is not None:
                    yield (turn.arm, generation.index, round_.index, attempts[turn.arm]), turn.window
                attempts[turn.arm] += 1


def evenly(values: tuple[int, ...], factor: float) -> tuple[int, ...]:
    """Return a share of the values, evenly spaced and in order.

    `factor`: the share, above 0; at least one value is kept where there is any.

    Examples
    --------
    >>> evenly((1, 2, 3, 4, 5, 6), 0.5)
    (1, 3, 5)
    """
    size = len(values)
    kept = min(size, max(1, int(size * factor)))
    return tuple(values[index * size // kept] for index in range(kept)) if size else ()
