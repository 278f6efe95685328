"""A comparison of twice as many arms, or cases, takes no more than three times as long; neither does a history."""

import contextlib
import gc
import statistics
import time
from collections.abc import Callable

import msgspec
import pytest

from levelfield.analysis.summary import Reduced, Result, Summary, question, reduce
from levelfield.compare import trend
from levelfield.compare.comparison import compare_runs
from levelfield.errors import LevelfieldError
from tests.records_builder import make_run

MOST = 3.0
MANY = 1_500


@pytest.fixture(scope="module")
def small() -> Reduced:
    run = make_run(models=("mlp",), backends=("torch",), scenarios=("latency",), generations=3, rounds=2, max_calls=3)
    return reduce(run, "0" * 64)


def grown(small: Reduced, version: str, *, arms: int, cases: int, batch: int = 1) -> Reduced:
    """Let arms of this version answer cases of this batch."""
    (arm,), (case,), (answer,) = small.arms.values(), small.cases.values(), small.answers.values()
    (parities,) = small.parities.values()
    many_arms = [
        msgspec.structs.replace(arm, version=version, settings={"number": str(number)}) for number in range(arms)
    ]
    many_cases = [msgspec.structs.replace(case, threads=1 + number, batch=batch) for number in range(cases)]
    keys = [(arm.id, case) for arm in many_arms for case in many_cases]
    return msgspec.structs.replace(
        small,
        facts=msgspec.structs.replace(small.facts, id=f"{version} {batch}"),
        arms={each.id: each for each in many_arms},
        cases={each.id: each for each in many_cases},
        answers={(name, case.id): answer for name, case in keys},
        parities={(name, question(case)): parities for name, case in keys},
        environment={f"arm {each.id}": {"precision": version} for each in many_arms},
    )


def growth(once: Callable[[], object], twice: Callable[[], object]) -> float:
    """Return how much longer the second takes, of processor time: by pairs, since a core is shared for a while."""

    def seconds(function: Callable[[], object]) -> float:
        gc.collect()  # what other tests have left is not collected in its time
        before = time.process_time()
        function()
        return time.process_time() - before

    return statistics.median(1 / (seconds(once) / seconds(twice)) for _ in range(7))


def compared(old: Reduced, new: Reduced) -> Callable[[], object]:
    def compare() -> None:
        with contextlib.suppress(LevelfieldError):  # they have no cases in common
            compare_runs([old], [new])

    return compare


def test_many_arms(small: Reduced) -> None:
    once, twice = (
        compared(grown(small, "1.0", arms=arms, cases=1), grown(small, "2.0", arms=arms, cases=1))
        for arms in (MANY, 2 * MANY)
    )
    assert growth(once, twice) <= MOST


def test_many_cases_that_the_other_side_does_not_have(small: Reduced) -> None:
    once, twice = (
        compared(grown(small, "1.0", arms=1, cases=cases), grown(small, "1.0", arms=1, cases=cases, batch=2))
        for cases in (MANY, 2 * MANY)
    )
    assert growth(once, twice) <= MOST


def test_many_runs_of_other_results() -> None:
    def history(runs: int) -> Callable[[], object]:
        known = {
            str(run): Summary(
                1, str(run), "2026-01-01T00:00:00Z", "0" * 64, 1, "a", "a", "docker", (),
                tuple(result(f"{run} {number}") for number in range(2)), {},
            )
            for run in range(runs)
        }  # fmt: skip
        names = trend.results(known)
        return lambda: trend.series(known, names, labelled=True)

    assert growth(history(1_000), history(2_000)) <= MOST


def result(name: str) -> Result:
    return Result(id=name, arm="torch", image="torch", metric="median call", unit="ns", standing="ranked", estimate=1.0)
