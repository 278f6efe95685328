"""Which windows are calm, and the spreads of all windows and of those alone, from windows that were made up."""

import math

import pytest

from levelfield.record.schema import Absent
from studies.gpu import calm
from studies.gpu.calm import Case, Probe, Window

QUIET = Probe(1_000, 500)


def window(launch: int, arm: str, median_ns: float, before: Probe = QUIET, after: Probe = QUIET) -> Window:
    return Window(
        launch=launch,
        arm=arm,
        median_ns=median_ns,
        calls=10,
        probed_before=before,
        probed_after=after,
        sm_clock_mhz=1980,
        memory_clock_mhz=3201,
        temperature_c=Absent("not asked"),
        power_mw=Absent("not asked"),
        throttled=(),
    )


def taken(second_launch: float = 1.1) -> list[Window]:
    levels = {0: 100.0, 1: 100.0 * second_launch}
    return [
        window(launch, arm, level) for launch, level in levels.items() for arm in ("torch", "torch#2") for _ in range(4)
    ]


def test_a_slow_probe_on_either_side_or_of_either_kind_makes_a_window_not_calm() -> None:
    quiet = taken()
    slow = [
        window(0, "torch", 130.0, before=Probe(1_060, 500)),
        window(0, "torch", 130.0, after=Probe(1_000, 530)),
    ]
    assert calm.calm([*quiet, *slow]) == quiet
    assert calm.calm([*quiet, *slow], 1.10) == [*quiet, *slow]


def test_the_low_mode_is_that_of_the_undisturbed_probes_where_most_are_disturbed() -> None:
    assert calm.low_mode([100] * 30 + [150] * 70) == 100


def test_spreads_are_within_a_launch_and_between_launches() -> None:
    found = calm.spread(taken())
    assert found is not None
    assert found.window_sd == pytest.approx(0.0, abs=1e-9)
    assert found.launch_sd == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert (found.ratio, found.ratio_sd) == pytest.approx((1.0, 0.0), abs=1e-9)


def test_an_arm_that_differs_in_one_launch_shows_in_the_spread_of_the_ratio() -> None:
    windows = [each for each in taken(1.0) if (each.arm, each.launch) != ("torch#2", 1)]
    windows += [window(1, "torch#2", 121.0) for _ in range(4)]
    found = calm.spread(windows)
    assert found is not None
    assert found.ratio == pytest.approx(1.1)
    assert found.ratio_sd == pytest.approx(math.log(1.21) / math.sqrt(2))


def test_one_launch_or_one_arm_has_no_spread() -> None:
    assert calm.spread([each for each in taken() if each.launch == 0]) is None
    assert calm.spread([each for each in taken() if each.arm == "torch"]) is None


def test_windows_that_follow_the_probe_correlate_with_it() -> None:
    windows = [window(0, "torch", 100.0 * k, before=Probe(1_000 * k, 500)) for k in (1, 1, 1, 2, 3, 4)]
    assert calm.correlation(windows) == pytest.approx(1.0)


def test_the_table_has_a_row_of_all_windows_and_one_for_each_limit() -> None:
    table = calm.markdown([Case("mlp", tuple(taken()))])
    assert table.count("| mlp |") == 1 + len(calm.LIMITS)
