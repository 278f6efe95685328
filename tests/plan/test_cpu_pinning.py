"""Which CPUs workers are pinned to."""

import pytest

from suite.errors import LevelfieldError
from suite.plan import cpu_pinning


@pytest.fixture(autouse=True)
def four_cores_of_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_pinning, "core", lambda cpu: f"{cpu % 4},{cpu % 4 + 4}")


@pytest.mark.parametrize(
    ("asked", "counted"), [((), (4,)), ((1,), (1,)), ((4, 1, 2), (1, 2, 4)), ((8,), (8,)), ((1, 8), (1, 8))]
)
def test_numbers_of_threads_rise(asked: tuple[int, ...], counted: tuple[int, ...]) -> None:
    assert cpu_pinning.counts(asked, range(8)) == counted


@pytest.mark.parametrize(
    ("asked", "message", "fix"),
    [
        ((1, 0), "0 threads cannot compute anything", "at least 1"),
        ((-3,), "-3 threads", "at least 1"),
        ((1, 9), "9 threads were asked for, and this process may use 8 CPUs", "--threads 8 or fewer"),
        ((2, 4, 2), "--threads names 2 twice", "--threads 2,4."),
    ],
)
def test_impossible_numbers_say_why(asked: tuple[int, ...], message: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        cpu_pinning.counts(asked, range(8))
    assert message in caught.value.message
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("threads", "cpus"),
    [(1, (0,)), (2, (0, 1)), (4, (0, 1, 2, 3)), (5, (0, 1, 2, 3, 4)), (8, tuple(range(8))), (20, tuple(range(8)))],
)
def test_one_of_every_core_first(threads: int, cpus: tuple[int, ...]) -> None:
    assert cpu_pinning.pinned(threads, range(8)) == cpus


def test_fewer_threads_are_pinned_to_some_of_the_cpus_of_more() -> None:
    most = cpu_pinning.pinned(6, range(8))
    for threads in range(1, 7):
        assert set(cpu_pinning.pinned(threads, most)) <= set(most)
        assert len(cpu_pinning.pinned(threads, most)) == threads
