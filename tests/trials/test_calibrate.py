"""Calibration: conclusions from known runs, a file that may be damaged, and one run for real."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from suite.errors import LevelfieldError
from suite.paths import CACHE_FOLDERS, cache_folder
from suite.record.schema import Case
from suite.run.calibration import NAME, Calibration, Conditions, Repeat, cited, conclude, load, same_machine, store
from suite.statistics.verdicts import Verdict
from suite.trials.calibrate import repeat_of
from tests.records_builder import make_run

MACHINE = {"cpu": {"model": "A", "threads": 2}, "memory": {"total bytes": 1 << 34}, "kernel": {"release": "6"}}
CONDITIONS = Conditions(
    started="2026-11-21T10:00:00Z",
    tool_version="0",
    machine=MACHINE,  # type: ignore[arg-type]  # plain facts
    image="levelfield/onnxruntime:1",
    backend="onnxruntime",
    case=Case("resnet50", "latency", "fp32", 1, 2),
    margin=0.02,
    launches=5,
    rounds=3,
    window_ns=150_000_000,
)


def repeats(*verdicts: Verdict, launch: float = 0.007, window: float = 0.02) -> list[Repeat]:
    draw = np.random.default_rng(1)
    found = []
    for number, verdict in enumerate(verdicts):
        logs = launch * draw.standard_normal((5, 1, 2)) + window * draw.standard_normal((5, 3, 2))
        medians = (2e7 * np.exp(logs)).tolist()
        found.append(
            Repeat(
                run=str(number),
                started="2026-11-21T10:00:00Z",
                seconds=30.0,
                ratio=1.0,
                low=0.99,
                high=1.01,
                verdict=verdict,
                medians_ns=tuple(tuple(tuple(row) for row in generation) for generation in medians),
            )
        )
    return found


def calibration(*verdicts: Verdict) -> Calibration:
    return conclude(CONDITIONS, repeats(*verdicts), "2026-11-21T11:00:00Z")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    return tmp_path


def test_only_differences_are_false_alarms() -> None:
    found = calibration(*[Verdict.SAME] * 15, *[Verdict.INCONCLUSIVE] * 3, Verdict.FASTER, Verdict.SLOWER)
    assert (found.false_positives.successes, found.false_positives.trials) == (2, 20)
    assert (found.same.successes, found.same.trials) == (15, 20)
    assert "2 of 20 runs" in str(found)


def test_the_power_curve_follows_from_the_variance() -> None:
    found = calibration(*[Verdict.SAME] * 60)
    assert found.split is not None
    assert found.split.launch_sd == pytest.approx(0.007, rel=0.3)
    assert found.split.window_sd == pytest.approx(0.02, rel=0.1)
    usual = {point.effect: point.power for point in found.curve if point.launches == 5}
    twenty = {point.effect: point.power for point in found.curve if point.launches == 20}
    assert list(usual.values()) == sorted(usual.values())
    assert all(twenty[effect] > usual[effect] for effect in (0.005, 0.01, 0.02))
    assert found.minimum_detectable_effect is not None
    assert usual[0.02] < 0.95 < usual[0.1]
    assert 0.02 < found.minimum_detectable_effect < 0.05


@pytest.mark.usefixtures("cache")
def test_later_reports_cite_what_is_known_of_their_own_machine() -> None:
    found = calibration(*[Verdict.SAME] * 18, Verdict.INCONCLUSIVE, Verdict.FASTER)
    assert cited(MACHINE) is None  # type: ignore[arg-type]  # plain facts
    store(found)
    stored = cited(MACHINE)  # type: ignore[arg-type]
    assert stored is not None
    assert (stored.runs, stored.different, stored.same, stored.launches) == (20, 1, 18, 5)
    assert (stored.backend, stored.model, stored.margin) == ("onnxruntime", "resnet50", 0.02)
    assert stored.minimum_detectable_effect == found.minimum_detectable_effect
    assert cited(MACHINE | {"cpu": {"model": "B", "threads": 2}}) is None  # type: ignore[arg-type]


def test_missing_windows_are_left_out() -> None:
    whole = repeats(*[Verdict.SAME] * 10)
    first = whole[0]
    holed = msgspec.structs.replace(first, medians_ns=(((None, 2e7), *first.medians_ns[0][1:]), *first.medians_ns[1:]))
    found = conclude(CONDITIONS, [holed, *whole[1:]], "2026-11-21T11:00:00Z")
    assert found.split is not None
    assert found.split.rounds == 10 * 5 * 3 - 1


def test_too_little_gives_no_curve() -> None:
    one = msgspec.structs.replace(repeats(Verdict.SAME)[0], medians_ns=(((2e7, 2e7),),))
    found = conclude(CONDITIONS, [one], "2026-11-21T11:00:00Z")
    assert found.split is None
    assert found.curve == ()
    assert found.minimum_detectable_effect is None
    assert "finds slowdowns" not in str(found)


def test_it_is_kept_for_this_machine_alone(cache: Path) -> None:
    assert load() is None
    made = calibration(Verdict.SAME, Verdict.SAME)
    assert store(made) == cache / NAME
    assert load() == made
    assert load(made.machine) == made
    assert load({**made.machine, "kernel": {"release": "7"}}) == made  # an upgrade is what one wants to compare
    assert load({**made.machine, "cpu": {"model": "B", "threads": 2}}) is None
    assert not same_machine(made.machine, {})


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2]", b"\xff\xfe"])
def test_a_damaged_file_is_no_calibration(cache: Path, content: bytes) -> None:
    (cache / NAME).write_bytes(content)
    assert load() is None


def test_a_newer_file_is_no_calibration(cache: Path) -> None:
    store(msgspec.structs.replace(calibration(Verdict.SAME), schema=99))
    assert load() is None


def test_a_run_without_a_control_is_refused() -> None:
    with pytest.raises(LevelfieldError, match="no interval for its control"):
        repeat_of(make_run(generations=2), 1.0)


def test_a_run_is_judged_by_its_control() -> None:
    def judged(**words: float) -> Repeat:
        record = make_run(models=["resnet50"], scenarios=["latency"], control="onnxruntime", **words)  # type: ignore[arg-type]
        return repeat_of(record, 12.0)

    exact = judged(noise_scale=0.0)
    assert exact.verdict is Verdict.SAME
    assert exact.ratio == pytest.approx(1.0)
    assert exact.seconds == 12.0
    assert len(exact.medians_ns) == 5
    assert judged(noise_scale=5.0).verdict is Verdict.INCONCLUSIVE


@pytest.mark.docker
@pytest.mark.slow
def test_a_real_run_is_calibrated_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: object) -> None:
    for name in CACHE_FOLDERS:  # what takes minutes to make is there already: only the result goes elsewhere
        (tmp_path / name).symlink_to(cache_folder(name))
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    command = [sys.executable, "-m", "suite.trials.calibrate", "--model", "mlp", "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = load()
    assert found is not None
    assert len(found.repeats) == 1
    assert found.repeats[0].low < found.repeats[0].ratio < found.repeats[0].high
    assert len(found.repeats[0].medians_ns) == found.launches == 5
    assert found.split is not None
    again = subprocess.run([*command, "--add"], capture_output=True, text=True, check=False, timeout=600)
    assert again.returncode == 0, again.stdout + again.stderr
    more = load()
    assert more is not None
    assert more.repeats[0] == found.repeats[0]
    assert len(more.repeats) == 2
    other = [*command[:-1], "1", "--add", "--threads", "1"]
    refused = subprocess.run(other, capture_output=True, text=True, check=False, timeout=600)
    assert refused.returncode == 2
    assert "other conditions" in refused.stdout
