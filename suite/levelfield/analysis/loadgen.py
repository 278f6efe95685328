"""What MLPerf LoadGen found of each arm, and how its 90th percentile compares with this tool's own of the same worker.

A launch has one value, by which arms are compared: in SingleStream the 90th percentile of a query, in MultiStream the
99th, in Offline the time of a sample, in Server the time of a query at the highest rate that held the latency target.
Where a launch had several tests, it is their geometric mean. None of it is an MLPerf result: the tests are shorter, and
have other samples, than its rules ask for.
"""

import math
from collections.abc import Iterable, Sequence

from levelfield.record.schema import Absent, LoadGenLaunch, LoadGenTest, Window
from levelfield.statistics.load_search import Tried, highest

PERCENTILES = {"SingleStream": "90.00", "MultiStream": "99.00", "Server": "99.00"}
"""Percentile of the latency that counts, by scenario, as LoadGen names it."""


def held(test: LoadGenTest, target_ns: int | None) -> bool:
    """Return whether a test of Server held the latency target, and served every query.

    LoadGen's own verdict asks for more: enough queries to be certain of it.

    `target_ns`: what the 99th percentile must not exceed, nanoseconds.
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
            1e9 / each.per_second
            for each in launch.tests
            if not isinstance(each.per_second, Absent) and each.per_second > 0
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
