"""Workers that report what no record holds lose their own case, and the record of the others is read again."""

from pathlib import Path

import pytest

from levelfield.analysis import guarded
from tests import canaries, hostile
from tests.schedule.windows import HONEST, launches_of, turns_of


@pytest.mark.parametrize(
    "number", [0, 1, *(pytest.param(number, marks=pytest.mark.extended) for number in range(2, 20))]
)
def test_whatever_is_accepted_from_a_worker_is_read(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Of four workers a third of what they report is changed, each time in another way."""
    hostile.install(tmp_path, monkeypatch)
    liars = [hostile.arm(f"mutates-{number}.{ordinal}", ordinal) for ordinal in range(4, 8)]
    harness = canaries.Harness(canaries.plan("latency", "memory", arms=(*liars, HONEST)), reports)
    harness.measure()
    honest = launches_of(guarded.read(harness.folder).run, HONEST)
    assert honest
    assert all(launch.failure is None for launch in honest)


def test_every_lie_costs_its_own_case_only(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile.install(tmp_path, monkeypatch)
    says = {
        "names_libraries": "answered probe with more facts than a launch has",
        "counts_samples": "answered measure with a window with more calls than are asked for",
        "holds_other_inputs": "holds other inputs for canary than this run",
        "shouts": "xxx",
    }
    liars = [hostile.arm(does, number) for number, does in enumerate(says, start=4)]
    harness = canaries.Harness(canaries.plan("latency", arms=(*liars, HONEST)), reports)
    harness.measure()
    run = guarded.read(harness.folder).run
    turns = [turn for round_ in turns_of(run) for turn in round_]
    for arm, text in zip(liars, says.values(), strict=True):
        failures = [launch.failure for launch in launches_of(run, arm) if launch.failure is not None]
        failures += [turn.failure for turn in turns if turn.arm == arm.id and turn.failure is not None]
        assert failures
        for failure in failures:
            assert text in failure.message
            assert len(failure.message) + len(failure.detail) < 20_000
        if text != says["names_libraries"]:  # its probe comes after its rounds
            assert not any(turn.window for turn in turns if turn.arm == arm.id)
    honest = launches_of(run, HONEST)
    assert honest
    assert all(launch.failure is None and launch.libraries and launch.warmup for launch in honest)
    assert sum(file.stat().st_size for file in harness.folder.rglob("*") if file.is_file()) < 20_000_000
