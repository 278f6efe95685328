"""Blocks that MLPerf LoadGen drove: the value of each arm, its rank, and in Server latency against offered load."""

import msgspec

from levelfield.analysis import collect, loadgen, ranks
from levelfield.analysis.estimates import level
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.types import LoadGenBlock, LoadGenRow, LoadPoint
from levelfield.record.schema import Absent, Block, LoadGenLaunch, LoadGenTest
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy


def analyse(block: Block, known: ranks.Known, *, margin: float, ended: EndedBy) -> LoadGenBlock:
    """Summarise and rank a block."""
    arms = collect.arms(block)
    levels = launch_levels(block)
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


def _launches(summary: collect.ArmSummary) -> dict[int, LoadGenLaunch]:
    return {each.generation: each.launch.loadgen for each in summary.launches if each.launch.loadgen is not None}


def _row(block: Block, summary: collect.ArmSummary, known: ranks.Known, levels: dict[int, float]) -> LoadGenRow:
    launches = _launches(summary)
    tests = [test for launch in launches.values() for test in loadgen.deciding(launch)]
    common = ranks.arm_row(block, summary, known, measured=len(launches), needed=MIN_LAUNCHES)
    beyond = _out_of_reach(launches)
    if common.standing == "ranked" and len(levels) < len(launches):
        common = msgspec.structs.replace(
            common, standing="shown", reason=beyond or "LoadGen found no value in a launch"
        )
    elif beyond and common.standing in {"shown", "control"} and not levels:
        common = msgspec.structs.replace(common, reason=beyond)
    values = level(list(levels.values()))
    ratios = [ratio for launch in launches.values() if (ratio := loadgen.against_own(launch)) is not None]
    own = [p90 for launch in launches.values() if (p90 := loadgen.own_p90_ns(launch)) is not None]
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
    if not searched or any(loadgen.value_ns(launch) is not None for launch in searched):
        return ""
    target_ms = (searched[-1].target_ns or 0) / 1e6
    alone = [call for launch in searched for window in launch.own if (call := loadgen.percentile_ns(window, 0.5))]
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
    median, p99 = (test.percentiles_ns.get(name) for name in ("50.00", loadgen.PERCENTILES["Server"]))
    return LoadPoint(
        generation=generation,
        offered_per_second=rate,
        median_ns=float(median) if median and median > 0 else None,
        p99_ns=float(p99) if p99 and p99 > 0 else None,
        late_share=None if isinstance(test.late, Absent) or test.queries <= 0 else test.late / test.queries,
        not_served=test.not_served,
        held=loadgen.held(test, launch.target_ns),
        valid=test.valid,
    )
