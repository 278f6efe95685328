"""Blocks that MLPerf LoadGen drove: the value of each arm, its rank, and in Server latency against offered load.

A launch has one value, by which arms are compared: in SingleStream the 90th percentile of a query, in MultiStream the
99th, in Offline the time of a sample, in Server the time of a query at the highest rate that held the latency target.
Where a launch had several tests, it is their geometric mean. None of it is an MLPerf result: the tests are shorter, and
have other samples, than its rules ask for.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from levelfield.analysis import collect, ranks
from levelfield.analysis.estimates import level
from levelfield.analysis.types import LoadGenBlock, LoadGenRow, LoadPoint
from levelfield.record.schema import Absent, Block, LoadGenLaunch, LoadGenTest, Window
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy

PERCENTILES = {"SingleStream": "90.00", "MultiStream": "99.00", "Server": "99.00"}
"""Percentile of the latency that counts, by scenario, as LoadGen names it."""


class Tried(NamedTuple):
    """A load, and whether it held the target."""

    load: float
    held: bool


def highest(tried: Sequence[Tried]) -> float | None:
    """Return the highest load that held, below all that did not; None where there is none."""
    broken = min((each.load for each in tried if not each.held), default=math.inf)
    return max((each.load for each in tried if each.held and each.load < broken), default=None)


def held(test: LoadGenTest, target_ns: int | None) -> bool:
    """Return whether a test of Server held the latency target, and served every query.

    LoadGen's own verdict asks for more: enough queries to be certain of it.
    """
    reached = test.percentiles_ns.get(PERCENTILES["Server"])
    return target_ns is not None and reached is not None and reached <= target_ns and not test.not_served


def tried(tests: Sequence[LoadGenTest], target_ns: int | None) -> tuple[Tried, ...]:
    """Return the rates that were tried in Server, and whether each held the target."""
    return tuple(
        Tried(each.offered_per_second, held(each, target_ns))
        for each in tests
        if each.offered_per_second is not None and each.offered_per_second > 0
    )


def value_ns(launch: LoadGenLaunch) -> float | None:
    """Return the value of a launch, nanoseconds; None where LoadGen found none."""
    if launch.scenario == "Server":
        rate = highest(tried(launch.tests, launch.target_ns))
        return 1e9 / rate if rate is not None else None
    if launch.scenario == "Offline":
        return _geometric_mean(
            1e9 / it.per_second for it in launch.tests if not isinstance(it.per_second, Absent) and it.per_second > 0
        )
    name = PERCENTILES[launch.scenario]
    return _geometric_mean(
        float(each.percentiles_ns[name]) for each in launch.tests if each.percentiles_ns.get(name, 0) > 0
    )


def deciding(launch: LoadGenLaunch) -> tuple[LoadGenTest, ...]:
    """Return the tests that a launch's value is of: all, or in Server the one at the highest rate that held.

    Of several tests at that rate the last one counts; where no rate held, all of them do.
    """
    rate = highest(tried(launch.tests, launch.target_ns)) if launch.scenario == "Server" else None
    found = tuple(test for test in launch.tests if rate is not None and test.offered_per_second == rate)
    return found[-1:] or launch.tests


def against_own(launch: LoadGenLaunch) -> float | None:
    """Return LoadGen's 90th percentile over this tool's own, test by test and window by window beside it.

    Returns geometric mean over the pairs; None where there are none.
    """
    if launch.scenario != "SingleStream":
        return None
    name = PERCENTILES["SingleStream"]
    pairs = (
        test.percentiles_ns.get(name, 0) / own
        for test, window in zip(launch.tests, launch.own, strict=False)
        if (own := percentile_ns(window, 0.9))
    )
    return _geometric_mean(pair for pair in pairs if pair > 0)


def own_p90_ns(launch: LoadGenLaunch) -> float | None:
    """Return this tool's own 90th percentile in a launch of SingleStream: geometric mean over windows; else None."""
    if launch.scenario != "SingleStream":
        return None
    return _geometric_mean(float(own) for window in launch.own if (own := percentile_ns(window, 0.9)))


def percentile_ns(window: Window, share: float) -> int | None:
    """Return a percentile of a window's calls as LoadGen computes it: one of them, without interpolation."""
    calls: Sequence[int] = sorted(window.samples_ns)
    return calls[int(len(calls) * share)] if calls and calls[0] > 0 else None


def _geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def analyse(block: Block, known: ranks.Known, *, margin: float, ended: EndedBy) -> LoadGenBlock:
    """Summarise and rank a block."""
    arms = collect.arms(block)
    levels = levels_ns(block)
    rows = {each.arm.id: _row(block, each, known, levels[each.arm.id]) for each in arms}
    last = next((launch for arm in reversed(arms) for launch in reversed(_launches(arm).values())), None)
    return LoadGenBlock(
        case=block.case,
        **ranks.assign(rows, levels, margin=margin, ended=ended),
        generations=len(block.generations),
        scenario=block.case.definition.driven_as,
        version=last.version if last is not None else "",
        target_ns=last.target_ns if last is not None else None,
        settings=last.settings if last is not None else {},
        rules=last.rules if last is not None else {},
    )


def levels_ns(block: Block) -> dict[str, dict[int, float]]:
    """Return the value of each launch, by arm and generation; launches in which LoadGen found none are left out."""
    return collect.by_generation(block, lambda launch: value_ns(launch.loadgen) if launch.loadgen is not None else None)


def _launches(summary: collect.ArmSummary) -> dict[int, LoadGenLaunch]:
    return {each.generation: each.launch.loadgen for each in summary.launches if each.launch.loadgen is not None}


def _row(block: Block, summary: collect.ArmSummary, known: ranks.Known, levels: dict[int, float]) -> LoadGenRow:
    launches = _launches(summary)
    tests = [test for launch in launches.values() for test in deciding(launch)]
    common = ranks.arm_row(block, summary, known, measured=len(launches), needed=MIN_LAUNCHES)
    beyond = _out_of_reach(launches)
    if common.standing == "ranked" and len(levels) < len(launches):
        common = msgspec.structs.replace(
            common, standing="shown", reason=beyond or "LoadGen found no value in a launch"
        )
    elif beyond and common.standing in {"shown", "control"} and not levels:
        common = msgspec.structs.replace(common, reason=beyond)
    values = level(list(levels.values()))
    ratios = [ratio for launch in launches.values() if (ratio := against_own(launch)) is not None]
    own = [p90 for launch in launches.values() if (p90 := own_p90_ns(launch)) is not None]
    mean = level(own)
    return LoadGenRow(
        **msgspec.structs.asdict(common),
        version=collect.version(summary.workers),
        peak_bytes=collect.peak_bytes(summary.workers),
        launches=len(levels),
        value_ns=values,
        per_second=values.inverse.scaled(1e9) if values is not None and block.case.per_item else None,
        against_own=level(ratios),
        own_p90_ns=mean.value if mean is not None else None,
        launch_values_ns=tuple(levels.values()),
        tests=len(tests),
        tests_valid=sum(test.valid for test in tests),
        why_invalid=tuple(dict.fromkeys(test.why_invalid for test in tests if not test.valid)),
        points=_points(launches),
        out_of_reach=beyond,
        disturbed=sum(bool(launch.disturbed) for launch in launches.values()),
    )


def _out_of_reach(launches: dict[int, LoadGenLaunch]) -> str:
    """Return why no rate of any launch held the target; empty where one did, or none was searched."""
    searched = [launch for launch in launches.values() if launch.scenario == "Server" and launch.target_ns]
    if not searched or any(value_ns(launch) is not None for launch in searched):
        return ""
    target_ms = (searched[-1].target_ns or 0) / 1e6
    alone = [call for launch in searched for window in launch.own if (call := percentile_ns(window, 0.5))]
    if alone and min(alone) > (searched[-1].target_ns or 0):
        return f"no rate can hold {target_ms:g} ms: a query alone takes {min(alone) / 1e6:.3g} ms"
    rates = [test.offered_per_second for launch in searched for test in launch.tests if test.offered_per_second]
    lowest = f"{min(rates):.3g} queries a second" if rates else "the lowest rate"
    return f"no rate that was tried held {target_ms:g} ms at the 99th percentile, not even {lowest}"


def _points(launches: dict[int, LoadGenLaunch]) -> tuple[LoadPoint, ...]:
    found = [
        _point(generation, launch, test, test.offered_per_second)
        for generation, launch in launches.items()
        for test in launch.tests
        if test.offered_per_second is not None and test.offered_per_second > 0
    ]
    return tuple(sorted(found, key=lambda each: each.offered_per_second))


def _point(generation: int, launch: LoadGenLaunch, test: LoadGenTest, rate: float) -> LoadPoint:
    median, p99 = (test.percentiles_ns.get(name) for name in ("50.00", PERCENTILES["Server"]))
    return LoadPoint(
        generation=generation,
        offered_per_second=rate,
        median_ns=float(median) if median and median > 0 else None,
        p99_ns=float(p99) if p99 and p99 > 0 else None,
        late_share=None if isinstance(test.late, Absent) or test.queries <= 0 else test.late / test.queries,
        not_served=test.not_served,
        held=held(test, launch.target_ns),
        valid=test.valid,
    )
