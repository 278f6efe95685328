"""Trends: series of results, levels found in them, and what is said of both."""

import msgspec
import numpy as np
import pytest

from levelfield.analysis.summary import Summary
from levelfield.compare import trend
from levelfield.compare.trend import FEWEST_RUNS, Point, Series, find_trend
from levelfield.compare.trend_show import answer
from levelfield.errors import LevelfieldError
from tests.analysis.many import LATENCY, small_run, summaries, write_run


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
                run=f"run-{index}", started=f"2026-01-{index % 28 + 1:02d}T00:00:00Z",
                standing="ranked" if value else "failed", labels="", estimate=value, low=None, high=None,
            )
            for index, value in enumerate(values)
        ),
    )  # fmt: skip


def noisy(levels: list[float], sd: float = 0.008, seed: int = 3) -> list[float | None]:
    return list((np.asarray(levels) * np.exp(np.random.default_rng(seed).normal(0, sd, len(levels)))).tolist())


def test_a_step_is_found_where_it_is() -> None:
    found = find_trend(series(noisy([1e6] * 20 + [1.1e6] * 10)), margin=0.02)
    assert [change.at for change in found.changes] == [20]
    assert (found.changes[0].before, found.changes[0].runs) == (19, 10)
    assert found.changes[0].ratio == pytest.approx(1.1, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_but_noise_is_one_level(seed: int) -> None:
    assert find_trend(series(noisy([1e6] * 40, seed=seed)), margin=0.02).changes == ()


def test_a_change_inside_the_margin_is_not_called() -> None:
    values = noisy([1e6] * 20 + [1.015e6] * 20, sd=0.001)
    assert find_trend(series(values), margin=0.02).changes == ()
    assert len(find_trend(series(values), margin=0.01).changes) == 1


def test_a_creep_is_no_step() -> None:
    found = find_trend(series(noisy([1e6 * 1.01**day for day in range(40)], sd=0.004)), margin=0.02)
    assert found.changes == ()
    assert found.drift == pytest.approx(1.01**39, rel=0.05)


def test_failures_are_passed_over_and_places_still_fit() -> None:
    values = noisy([1e6] * 10 + [1.2e6] * 10)
    values[4] = values[9] = values[10] = None
    found = find_trend(series(values), margin=0.02)
    assert [(change.before, change.at) for change in found.changes] == [(8, 11)]


def test_what_fails_in_the_newest_runs_is_said_first() -> None:
    def said(values: list[float | None]) -> str:
        return answer(series(values), find_trend(series(values), margin=0.02))

    steady = noisy([1e6] * 8)
    assert said([*steady, None, None]) == "no valid answer in the newest 2 runs; before that one level over 8 runs."
    assert said([*steady[:4], None, *steady[4:]]) == "one level over 8 runs."


def test_a_few_runs_call_no_change() -> None:
    found = find_trend(series([1e6, 1e6, 2e6, 2e6]), margin=0.02)
    assert found.changes == ()
    assert f"called from {FEWEST_RUNS} on" in found.not_analysed
    assert find_trend(series([]), margin=0.02).not_analysed


def test_a_long_history_is_judged_by_its_newest_part() -> None:
    found = find_trend(series(noisy([3e6] * 300 + [1e6] * 400 + [1.1e6] * 100)), margin=0.02)
    assert [change.at for change in found.changes] == [700]


def test_an_outlier_is_no_level() -> None:
    values = noisy([1e6] * 20)
    values[9] = 3e6
    assert find_trend(series(values), margin=0.02).changes == ()
    values[4] = 0.3e6
    assert find_trend(series(values), margin=0.02).changes == ()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return write_run(small_run(), tmp_path_factory.mktemp("template") / "run")


def test_a_series_has_its_runs_in_order_of_time(template: Summary) -> None:
    given = summaries(template, 30)
    (found,) = trend.series(trend.in_order(reversed(given)), [LATENCY], labelled=False)
    assert [point.run for point in found.points] == [one.id for one in given]
    results = [next(result for result in one.results if result.id == LATENCY) for one in given]
    assert [point.estimate for point in found.points] == [result.estimate for result in results]
    assert (found.machine, found.unit, found.image) == (template.machine, "ns", "image onnxruntime")


def test_runs_on_other_hardware_or_elsewhere_are_other_series(template: Summary) -> None:
    first, second, third = summaries(template, 3)
    second = msgspec.structs.replace(second, machine="another", machine_title="Another machine")
    runs = trend.in_order([first, second, msgspec.structs.replace(third, launcher="venv")])
    found = trend.series(runs, [LATENCY], labelled=False)
    assert [(one.machine, one.launcher, len(one.points)) for one in found] == [
        (template.machine, "docker", 1),
        ("another", "docker", 1),
        (template.machine, "venv", 1),
    ]


def test_what_changed_is_reported_and_only_what_concerns_the_arm(template: Summary) -> None:
    given = summaries(template, 2, level=lambda day: 1.0 + day / 10)
    kernel = {**template.environment["kernel"], "release": "7.1"}
    other = {**template.environment["image openvino"], "openvino": "2027.1"}
    environment = {
        **given[1].environment,
        "kernel": kernel,
        "image openvino": other,
        "new": {"fact": "told", "none": "not known: no sensor"},
    }
    runs = trend.in_order([given[0], msgspec.structs.replace(given[1], environment=environment)])
    (one,) = trend.series(runs, [LATENCY], labelled=False)
    found = {
        (fact.group, fact.name): (fact.before, fact.after)
        for fact in trend.environment_differences(runs, one.points[0], one.points[1], one)
    }
    assert found == {
        ("image onnxruntime", "onnxruntime"): ("1.40", "1.41"),
        ("kernel", "release"): (template.environment["kernel"]["release"], "7.1"),
        ("new", "fact"): (None, "told"),
    }
    assert trend.environment_differences(runs, one.points[0], one.points[0], one) == []


KNOWN = [LATENCY, "openvino/mlp/latency/fp32/b1/t2/cpu", "openvino/bert/memory/fp32/b1/t2/cpu"]


@pytest.mark.parametrize(
    ("asked", "meant"), [(LATENCY, [LATENCY]), ("mlp/latency", KNOWN[:2]), ("*/bert/*", KNOWN[2:])]
)
def test_what_is_meant(asked: str, meant: list[str]) -> None:
    assert trend.matching(asked, KNOWN) == meant


@pytest.mark.parametrize(
    ("asked", "says"),
    [("onxruntime/mlp/latency/fp32/b1/t2/cpu", f"Did you mean {LATENCY!r}"), ("something else", "Known: ")],
)
def test_what_is_not_there_is_answered_with_what_is_close(asked: str, says: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        trend.matching(asked, KNOWN)
    assert says in caught.value.fix
