"""What a trial says of its windows."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.record.schema import Case
from studies.commands import read
from studies.harness.command import TOOLS
from studies.harness.findings import (
    Cell,
    Contrast,
    Finding,
    Generation,
    Interval,
    Limit,
    Round,
    Trial,
    Verdict,
    Window,
    find,
    markdown,
    summary,
)
from tests.commands import ROOT


def cell(*verdicts: Verdict, failure: str = "") -> Cell:
    contrast = TOOLS[0].contrasts("resnet50")[0]
    one = Interval(1.0, None, None)
    findings = tuple(Finding(contrast, 2, 1.0, 1.0, one, one, one, verdict) for verdict in verdicts)
    case = Case("resnet50", "latency", "fp32", 1, 2)
    return Cell("jax", case, ("worker", "bare loop"), (), findings, failure=failure)


def pair(first: str, first_ns: float, second_ns: float, second: str = "bare loop") -> Round:
    return Round((Window(first, first_ns, 3), Window(second, second_ns, 3)))


def bare_loops(backend: str, ratio: float = 1.002) -> Cell:
    """Return a cell of BERT whose loops and processes are this far apart."""
    arms = ("worker", "bare loop", "worker's loop")
    turns = [pair("worker's loop", 1e8 * ratio * drift, 1e8 * drift) for drift in (1.0, 1.2, 0.9, 1.1)]
    taken = (Generation((*turns, pair("worker", 1e8 * ratio, 1e8))),) * 6
    findings = tuple(find(each, taken, arms) for each in TOOLS[0].contrasts("bert"))
    return Cell(backend, Case("bert", "latency", "fp32", 1, 2), arms, taken, findings)


FACTS: dict[str, Any] = {"settings": {}, "machine": {}, "images": (), "artifacts": (), "cells": ()}
TIMES: dict[str, Any] = {"started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:00:01Z"}
EMPTY = Trial(schema=2, tool_version="0", seed=1, load_before=(0.0,) * 3, load_after=(0.0,) * 3, **TIMES, **FACTS)


ARMS = ("worker", "bare loop")
PERCENT = Contrast("worker", "bare loop", Limit(share=0.01), "")
MICROSECONDS = Contrast("worker", "bare loop", Limit(ns=2000.0), "")
WOBBLE = (0.0, 0.001, -0.001, 0.0005, -0.0005, 0.0002, -0.0002, 0.0)


def generations(ratio: float, *, level_ns: float = 1e6, launches: int = 8, spread: float = 1.0) -> list[Generation]:
    """Launches whose ratios wobble a little, on a machine whose speed drifts much."""
    return [
        Generation(
            tuple(
                pair("worker", level_ns * drift * ratio * math.exp(spread * WOBBLE[launch]), level_ns * drift)
                for drift in (1.0, 1.3, 0.8, 1.1)
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


def test_fewer_than_six_launches_show_nothing_and_no_limit_is_no_verdict() -> None:
    finding = find(PERCENT, generations(1.0, launches=5), ARMS)
    assert (finding.ratio.low, finding.verdict) == (None, "not shown")
    assert find(Contrast("worker", "bare loop", Limit(), ""), generations(2.0), ARMS).verdict == "no limit"


INSIDE = Contrast("worker's loop", "bare loop", Limit(share=0.01), "", one_process=True)


def test_a_contrast_looks_at_the_rounds_that_both_its_arms_took() -> None:
    """The other rounds may be as they like."""
    made = [Generation((pair("worker's loop", 1.003e6, 1e6), pair("worker", 3e6, 2e6)))] * 6
    arms = (*ARMS, "worker's loop")
    assert find(INSIDE, made, arms).ratio.value == pytest.approx(1.003)
    assert find(PERCENT, made, arms).ratio.value == pytest.approx(1.5)


def test_loops_of_one_process_are_judged_by_the_mean_of_few_launches() -> None:
    """Its interval covers the truth as often as it says, with tails as heavy as turns have."""
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(500):
        times = 1e6 * np.exp([0.004, 0.0] + 0.03 * random.standard_t(3, (6, 12, 2)))
        made = [Generation(tuple(pair("worker's loop", *both) for both in launch)) for launch in times.tolist()]
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
