"""After how many calls compiling pays back: its time at the start over the time that every call then saves.

An arm compiles where its own settings, read back from the framework, say so. It is compared with the fastest arm that
does not compile, and with its own framework without the compiler where that is another arm.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from levelfield.analysis import estimates, types
from levelfield.analysis.estimates import ended_by
from levelfield.analysis.launch_levels import launch_levels
from levelfield.names import made_of
from levelfield.record.schema import Arm, Block, Case, Run

MODE = "mode"
"""Setting that names how a backend executes."""
WORDS = ("compile", "jit")
"""Of a mode that compiles: `torch.compile, inductor, static shapes`, `tf.function, jit_compile`,
`jit, compiled ahead of time`."""


class _Side(msgspec.Struct, frozen=True):
    """One arm with both of its costs."""

    arm: Arm
    row: types.Row
    call_ns: float
    cold_ns: types.Estimate


def derive(run: Run, blocks: Iterable[types.BlockAnalysis]) -> tuple[types.Payback, ...]:
    """Return the payback of every compiling arm, in every latency case that has a cold start of the same batch."""
    pairs = list(zip(run.blocks, blocks, strict=True))
    cold = {_key(block.case): block for _, block in pairs if isinstance(block, types.ColdBlock)}
    found: list[types.Payback] = []
    for recorded, block in pairs:
        if isinstance(block, types.TimedBlock) and block.case.scenario == "latency" and _key(block.case) in cold:
            found += _of(run, recorded, block, cold[_key(block.case)])
    return tuple(found)


def _key(case: Case) -> tuple[str, str, int, int, str]:
    return case.model, case.precision, case.batch, case.threads, case.device


def compiles(settings: Mapping[str, str]) -> bool:
    """Say whether an arm compiles, by the mode that it reports."""
    mode = settings.get(MODE, "").lower()
    return any(word in mode for word in WORDS)


def _of(run: Run, recorded: Block, block: types.TimedBlock, cold: types.ColdBlock) -> Iterator[types.Payback]:
    sides = _sides(recorded, block, cold)
    plain = [side for side in sides if not compiles(side.row.settings)]
    if not plain:
        return
    fastest = min(plain, key=lambda side: side.call_ns)
    levels = launch_levels(recorded)
    ended = ended_by(run.settings, recorded.case)
    for side in sides:
        if not compiles(side.row.settings):
            continue
        own = [other for other in plain if (other.arm.image, other.arm.variant) == (side.arm.image, side.arm.variant)]
        for against in dict.fromkeys([fastest.arm.id, *(other.arm.id for other in own)]):
            other = next(each for each in plain if each.arm.id == against)
            ratio = estimates.ratio(levels[side.arm.id], levels[against], ended=ended)
            if ratio is not None:
                yield _payback(block.case, side, other, ratio)


def _sides(recorded: Block, block: types.TimedBlock, cold: types.ColdBlock) -> list[_Side]:
    arms = {arm.id: arm for arm in recorded.arms}
    starts = {row.arm: row for row in cold.rows}
    found: list[_Side] = []
    for row in block.rows:
        start = starts.get(row.arm)
        if not row.is_equal or row.call_ns is None or row.arm not in arms:
            continue
        if start is not None and start.total_ns is not None and start.standing == "shown":
            found.append(_Side(arms[row.arm], row, row.call_ns.value, start.total_ns))
    return found


def _payback(case: Case, side: _Side, other: _Side, ratio: types.Estimate) -> types.Payback:
    verdict, calls = weigh(side.cold_ns, other.cold_ns, other.call_ns, ratio)
    return made_of(
        types.Payback,
        case,
        side,
        arm=side.arm.id,
        against=other.arm.id,
        against_cold_ns=other.cold_ns,
        ratio=ratio,
        verdict=verdict,
        calls=calls,
    )


def weigh(
    cold_ns: types.Estimate, other_cold_ns: types.Estimate, other_call_ns: float, ratio: types.Estimate
) -> tuple[types.PaybackVerdict, types.Estimate | None]:
    """Compare a slower start with faster calls."""
    low, high = _bounds(ratio)
    extra = types.Estimate(
        cold_ns.value - other_cold_ns.value,
        _difference(cold_ns.low, other_cold_ns.high),
        _difference(cold_ns.high, other_cold_ns.low),
    )
    if low >= 1:
        return "never", None
    most = extra.value if extra.high is None else extra.high
    if high < 1 and most <= 0:
        return "at once", None
    if extra.value <= 0:
        return "maybe", None
    calls = extra.value / (other_call_ns * (1 - ratio.value)) if ratio.value < 1 else math.inf
    if ratio.low is None or ratio.high is None:
        return "after", types.Estimate(calls)
    least = max(0.0, extra.value if extra.low is None else extra.low) / (other_call_ns * (1 - low))
    if high >= 1:
        return "maybe", types.Estimate(calls, least, None) if math.isfinite(calls) else None
    return "after", types.Estimate(calls, least, most / (other_call_ns * (1 - high)))


def _bounds(span: types.Estimate) -> tuple[float, float]:
    return (span.value if span.low is None else span.low), (span.value if span.high is None else span.high)


def _difference(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


ENGINE = "engine"
"""Setting that names the framework which computes, and its version."""


def wrappers(run: Run, blocks: Iterable[types.BlockAnalysis]) -> tuple[types.WrapperCost, ...]:
    """Return the cost of every wrapper, in every timed case that has its engine too."""
    pairs = zip(run.blocks, blocks, strict=True)
    timed = ((recorded, block) for recorded, block in pairs if isinstance(block, types.TimedBlock))
    return tuple(cost for recorded, block in timed for cost in _wrapper(run, recorded, block))


def _wrapper(run: Run, recorded: Block, block: types.TimedBlock) -> Iterator[types.WrapperCost]:
    engines = {row.arm: row.settings.get(ENGINE, "").partition(" ")[0] for row in block.rows if row.is_equal}
    if not any(engines.values()):
        return
    levels = launch_levels(recorded)
    arms = [arm for arm in recorded.arms if arm.id in engines]
    for arm in (each for each in arms if engines[each.id]):
        for other in (each for each in arms if each.image == engines[arm.id]):
            ratio = estimates.ratio(levels[arm.id], levels[other.id], ended=ended_by(run.settings, recorded.case))
            if ratio is not None:
                yield types.WrapperCost(block.case, arm.id, other.id, ratio)
