"""Differences are taken within launches: what launches have by chance cancels."""

import pytest

from studies.loadgen.findings import analyse, markdown
from studies.loadgen.record import Cell, Trial, Turn
from studies.record import Measurement
from suite.record.schema import Case
from tests.records_builder import make_machine


def turn(launch: int, level: float, *, driven: bool) -> Turn:
    adds = 2_000.0 if driven else 0.0
    return Turn(
        launch=launch,
        arm="torch",
        kind="LoadGen" if driven else "bare",
        calls=100,
        each_ns=level + 2 * adds,
        median_ns=level + adds,
        p90_ns=level * (1.01 if driven else 1.0),
        elapsed_ns=1_000_000,
        others_ns=None,
    )


def trial(launches: int) -> Trial:
    levels = [1e5 * (1 + 0.1 * launch) for launch in range(launches)]
    turns = tuple(turn(number, level, driven=driven) for number, level in enumerate(levels) for driven in (False, True))
    cell = Cell(Case("mlp", "loadgen-single-stream", "fp32", 1, 2), ("torch", "jax"), 1.0, "6.0.17", turns)
    return Trial(
        schema=1, started="2026-11-26T10:00:00Z", finished="2026-11-26T10:00:00Z", tool_version="1", seed=1, images=(),
        artifacts=(), machine=make_machine(), load_before=(0.0, 0.0, 0.0), load_after=(0.0, 0.0, 0.0),
        launcher="docker", cells=(cell,),
    )  # fmt: skip


def test_what_loadgen_adds_is_known_though_launches_differ_by_far_more() -> None:
    (found,) = analyse(trial(5)).findings
    assert found.launches == 5
    assert found.latency_ns.value == pytest.approx(2_000)
    assert found.query_ns.value == pytest.approx(4_000)
    assert found.query_ns.high == pytest.approx(4_000, abs=1e-3)
    assert found.p90.value == pytest.approx(1.01)
    text = markdown(analyse(trial(5)))
    assert "4.00 µs (4.00 to 4.00)" in text
    assert "mlp on torch: LoadGen's own cost of a query is shown to be 5 µs or less" in text


def test_one_launch_has_no_interval_and_shows_nothing() -> None:
    text = markdown(analyse(trial(1)))
    assert "not shown to be" in text
    assert isinstance(trial(1), Measurement)
