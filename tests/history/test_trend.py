import numpy as np
import pytest

from levelfield.history.trend import FEWEST_RUNS, Point, Series, trend


def series(values: list[float | None]) -> Series:
    return Series(
        result="onnxruntime/mlp/latency/fp32/b1/t2/cpu",
        arm="onnxruntime",
        image="image onnxruntime",
        metric="median call",
        unit="ns",
        machine="abc",
        machine_title="A machine",
        launcher="docker",
        points=tuple(
            Point(
                run=f"run-{index}",
                started=f"2026-01-{index % 28 + 1:02d}T00:00:00Z",
                standing="ranked" if value else "failed",
                labels="",
                estimate=value,
                low=None,
                high=None,
            )
            for index, value in enumerate(values)
        ),
    )


def noisy(levels: list[float], sd: float = 0.008, seed: int = 3) -> list[float | None]:
    return list((np.asarray(levels) * np.exp(np.random.default_rng(seed).normal(0, sd, len(levels)))).tolist())


def test_a_step_is_found_where_it_is() -> None:
    found = trend(series(noisy([1e6] * 20 + [1.1e6] * 10)), margin=0.02)
    assert [change.at for change in found.changes] == [20]
    assert found.changes[0].before == 19
    assert found.changes[0].runs == 10
    assert found.changes[0].ratio == pytest.approx(1.1, rel=0.02)


def test_up_and_down_again() -> None:
    found = trend(series(noisy([1e6] * 10 + [1.2e6] * 8 + [0.9e6] * 10)), margin=0.02)
    assert [change.at for change in found.changes] == [10, 18]
    assert found.changes[1].ratio == pytest.approx(0.75, rel=0.02)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_but_noise_is_one_level(seed: int) -> None:
    assert trend(series(noisy([1e6] * 40, seed=seed)), margin=0.02).changes == ()


def test_a_change_inside_the_margin_is_not_called() -> None:
    values = noisy([1e6] * 20 + [1.015e6] * 20, sd=0.001)
    assert trend(series(values), margin=0.02).changes == ()
    assert len(trend(series(values), margin=0.01).changes) == 1


def test_a_creep_is_no_step() -> None:
    found = trend(series(noisy([1e6 * 1.01**day for day in range(40)], sd=0.004)), margin=0.02)
    assert found.changes == ()
    assert found.drift == pytest.approx(1.01**39, rel=0.05)


def test_failures_are_passed_over_and_places_still_fit() -> None:
    values = noisy([1e6] * 10 + [1.2e6] * 10)
    values[4] = values[9] = values[10] = None
    found = trend(series(values), margin=0.02)
    assert [(change.before, change.at) for change in found.changes] == [(8, 11)]


def test_a_few_runs_call_no_change() -> None:
    found = trend(series([1e6, 1e6, 2e6, 2e6]), margin=0.02)
    assert found.changes == ()
    assert f"called from {FEWEST_RUNS} on" in found.not_analysed
    assert trend(series([]), margin=0.02).not_analysed


def test_the_last_run_alone_is_a_change_of_one_run() -> None:
    found = trend(series(noisy([1e6] * 20 + [1.5e6])), margin=0.02)
    assert found.changes[-1].at == 20
    assert found.changes[-1].runs == 1


def test_a_long_history_is_judged_by_its_newest_part() -> None:
    found = trend(series(noisy([3e6] * 300 + [1e6] * 400 + [1.1e6] * 100)), margin=0.02)
    assert [change.at for change in found.changes] == [700]


def test_an_outlier_is_no_level() -> None:
    values = noisy([1e6] * 20)
    values[9] = 3e6
    assert trend(series(values), margin=0.02).changes == ()
    values[4] = 0.3e6
    assert trend(series(values), margin=0.02).changes == ()
