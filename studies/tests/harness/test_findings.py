"""What a trial says of its windows."""

import math

import msgspec
import numpy as np
import pytest

from studies.commands import read
from studies.harness.findings import find, markdown, summary
from studies.harness.record import Contrast, Generation, Limit, Round, Trial, Window
from studies.tests.harness.cells import EMPTY, bare_loops, cell
from tests.commands import ROOT

ARMS = ("worker", "bare loop")
PERCENT = Contrast("worker", "bare loop", Limit(share=0.01), "")
MICROSECONDS = Contrast("worker", "bare loop", Limit(ns=2000.0), "")
WOBBLE = (0.0, 0.001, -0.001, 0.0005, -0.0005, 0.0002, -0.0002, 0.0)
DRIFT = (1.0, 1.3, 0.8, 1.1)


def generations(ratio: float, *, level_ns: float = 1e6, launches: int = 8, spread: float = 1.0) -> list[Generation]:
    """Launches whose ratios wobble a little, on a machine whose speed drifts much."""
    return [
        Generation(
            tuple(
                Round(
                    (
                        Window("worker", level_ns * drift * ratio * math.exp(spread * WOBBLE[launch]), 10),
                        Window("bare loop", level_ns * drift, 10),
                    )
                )
                for drift in DRIFT
            )
        )
        for launch in range(launches)
    ]


def test_a_known_ratio_is_found_in_spite_of_drift() -> None:
    finding = find(PERCENT, generations(1.004), ARMS)
    assert finding.ratio.low is not None
    assert finding.ratio.high is not None
    assert finding.ratio.low < 1.004 < finding.ratio.high
    assert finding.ratio.high - finding.ratio.low < 0.0021
    assert finding.verdict == "within"


@pytest.mark.parametrize(
    ("ratio", "spread", "verdict"),
    [
        (1.0, 1.0, "within"),
        (1.03, 1.0, "outside"),
        (0.97, 1.0, "outside"),
        (1.01, 1.0, "not shown"),
        (1, 30, "not shown"),
    ],
)
def test_the_whole_interval_decides(ratio: float, spread: float, verdict: str) -> None:
    assert find(PERCENT, generations(ratio, spread=spread), ARMS).verdict == verdict


@pytest.mark.parametrize(("added_ns", "verdict"), [(1000, "within"), (5000, "outside"), (2000, "not shown")])
def test_a_limit_in_microseconds_looks_at_the_difference(added_ns: int, verdict: str) -> None:
    bare_ns = find(MICROSECONDS, generations(1.0, level_ns=1e4), ARMS).second_ns
    finding = find(MICROSECONDS, generations(1 + added_ns / bare_ns, level_ns=1e4, spread=3), ARMS)
    assert finding.verdict == verdict
    assert finding.difference_ns.value == pytest.approx(added_ns, rel=0.02)


def test_one_launch_of_another_kind_decides_nothing() -> None:
    usual = generations(1.0)
    finding = find(PERCENT, [*usual[:-1], *generations(1.9, launches=1)], ARMS)
    assert finding.ratio.value == pytest.approx(1.0, abs=0.001)
    assert finding.mean_ratio.value > 1.05
    assert finding.mean_ratio.high is not None
    assert finding.mean_ratio.high > 1.2


def test_fewer_than_six_launches_show_nothing() -> None:
    finding = find(PERCENT, generations(1.0, launches=5), ARMS)
    assert finding.ratio.low is None
    assert finding.verdict == "not shown"


def test_without_a_limit_there_is_no_verdict() -> None:
    finding = find(Contrast("worker", "bare loop", Limit(), ""), generations(2.0, spread=30), ARMS)
    assert finding.verdict == "no limit"
    assert finding.ratio.value == pytest.approx(2.0, rel=0.05)


INSIDE = Contrast("worker's loop", "bare loop", Limit(share=0.01), "", one_process=True)


def test_a_contrast_looks_at_the_rounds_that_both_its_arms_took() -> None:
    """The other rounds may be as they like."""
    made = [
        Generation(
            (
                Round((Window("worker's loop", 1.003e6, 3), Window("bare loop", 1e6, 3))),
                Round((Window("worker", 3e6, 3), Window("bare loop", 2e6, 3))),
            )
        )
        for _ in range(6)
    ]
    arms = (*ARMS, "worker's loop")
    assert find(INSIDE, made, arms).ratio.value == pytest.approx(1.003)
    assert find(PERCENT, made, arms).ratio.value == pytest.approx(1.5)


def test_loops_of_one_process_are_judged_by_the_mean_of_few_launches() -> None:
    """Its interval covers the truth as often as it says, with tails as heavy as turns have."""
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(500):
        made = [
            Generation(
                tuple(
                    Round(
                        (
                            Window("worker's loop", 1e6 * math.exp(0.004 + 0.03 * float(random.standard_t(3))), 3),
                            Window("bare loop", 1e6 * math.exp(0.03 * float(random.standard_t(3))), 3),
                        )
                    )
                    for _ in range(12)
                )
            )
            for _ in range(6)
        ]
        ratio = find(INSIDE, made, ("bare loop", "worker's loop")).ratio
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= math.exp(0.004) <= ratio.high
    assert 0.92 <= covered / 500 <= 0.98


def test_the_worst_contrast_is_named() -> None:
    cells = [bare_loops(backend, ratio) for backend, ratio in (("jax", 1.002), ("torch", 0.97), ("openvino", 1.02))]
    text = summary(msgspec.structs.replace(EMPTY, cells=tuple(cells)))
    assert "In one process: 1 within, 2 outside; farthest from the other torch on bert: 0.970" in text


def test_the_committed_table_of_every_backend_follows_from_its_record() -> None:
    path = ROOT / "reports" / "trials" / "every-backend-2026-11-22.json"
    assert markdown(read(path, Trial)) == path.with_suffix(".md").read_text(encoding="utf-8")


def test_what_could_not_be_measured_is_a_row() -> None:
    lines = markdown(msgspec.structs.replace(EMPTY, cells=(cell(failure="it broke"),))).splitlines()
    assert lines[2].startswith("| resnet50 | jax | could not be measured |")
    assert lines[2].count("|") == lines[0].count("|")
