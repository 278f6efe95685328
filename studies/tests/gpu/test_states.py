"""Which windows are calm, and the spreads of all windows and of those alone, from windows that were made up."""

import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from levelfield.record.schema import Absent
from studies import commands
from studies.gpu import states
from studies.gpu.states import Case, Probe, States, Window

QUIET = Probe(1_000, 500)


def window(launch: int, arm: str, median_ns: float, before: Probe = QUIET, after: Probe = QUIET) -> Window:
    absent = {name: Absent("not asked") for name in states._SHOWN}
    return Window(
        launch=launch, arm=arm, median_ns=median_ns, calls=10, probed_before=before, probed_after=after, **absent
    )


def taken(second_launch: float = 1.1) -> list[Window]:
    levels = {0: 100.0, 1: 100.0 * second_launch}
    return [
        window(launch, arm, level) for launch, level in levels.items() for arm in ("torch", "torch#2") for _ in range(4)
    ]


def test_a_slow_probe_on_either_side_or_of_either_kind_makes_a_window_not_calm() -> None:
    slow = [window(0, "torch", 130.0, before=Probe(1_060, 500)), window(0, "torch", 130.0, after=Probe(1_000, 530))]
    assert states.calm([*taken(), *slow]) == taken()
    assert states.calm([*taken(), *slow], 1.10) == [*taken(), *slow]
    assert states.low_mode([100] * 30 + [150] * 70) == 100, "where most probes are disturbed"


def test_spreads_are_within_a_launch_between_launches_and_of_the_ratio() -> None:
    alike = states.spread(taken())
    one_differs = [each for each in taken(1.0) if (each.arm, each.launch) != ("torch#2", 1)]
    other = states.spread([*one_differs, *(window(1, "torch#2", 121.0) for _ in range(4))])
    assert alike is not None
    assert other is not None
    assert alike.launch_sd == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert (alike.window_sd, alike.ratio, alike.ratio_sd) == pytest.approx((0.0, 1.0, 0.0), abs=1e-9)
    assert (other.ratio, other.ratio_sd) == pytest.approx((1.1, math.log(1.21) / math.sqrt(2)))
    assert states.spread([each for each in taken() if each.launch == 0]) is None
    assert states.spread([each for each in taken() if each.arm == "torch"]) is None


def test_windows_that_follow_the_probe_correlate_with_it() -> None:
    windows = [window(0, "torch", 100.0 * k, before=Probe(1_000 * k, 500)) for k in (1, 1, 1, 2, 3, 4)]
    assert states.correlation(windows) == pytest.approx(1.0)


def test_a_record_is_analysed_anew(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    cases = (Case("mlp", tuple(taken())),)
    commands.write(States(schema=1, started="", tool_version="", machine={}, cases=cases), path)
    result = CliRunner().invoke(states.main, ["--analyse", str(path)])
    assert result.exit_code == 0, result.output
    assert path.with_suffix(".md").read_text().count("| mlp |") == 1 + len(states.LIMITS)
