"""Cost is time times price, and what was not measured is absent."""

import pytest

from levelfield.analysis import analyse, money
from levelfield.analysis.types import Estimate
from levelfield.record.schema import Absent, Price, Run
from levelfield.statistics.student import MIN_LAUNCHES
from tests.known import known
from tests.records_builder import make_run

EUR = Price(1.2, "EUR")


def priced(run: Run) -> Run:
    return money.at(run, EUR)


def blocks(run: Run) -> dict[str, money.CostBlock]:
    return {block.case.scenario: block for block in money.summarise(run, analyse(run).blocks)}


def numbers(value: Estimate | Absent) -> tuple[float, float, float]:
    assert isinstance(value, Estimate)
    return known(value.low), value.value, known(value.high)


@pytest.fixture
def run() -> Run:
    return make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency", "throughput", "memory"))


def test_without_a_price_there_are_no_costs(run: Run) -> None:
    assert money.summarise(run, analyse(run).blocks) == ()


def test_a_million_items_cost_their_time(run: Run) -> None:
    """By hand: a call of t ns is t × 10⁶ ÷ 3.6 × 10¹² hours; its bounds are those of the time."""
    found = blocks(priced(run))
    assert set(found) == {"latency", "throughput"}, "peak memory takes no time"
    analysed = {block.case.scenario: block for block in analyse(run).timed}
    for row, timed in zip(found["latency"].rows, analysed["latency"].rows, strict=True):
        expected = known(timed.call_ns).scaled(1e6 / 3.6e12 * 1.2)
        assert row.arm == timed.arm
        assert numbers(row.cost) == pytest.approx((expected.low, expected.value, expected.high))
    for row, timed in zip(found["throughput"].rows, analysed["throughput"].rows, strict=True):
        rate = known(timed.items_per_second)
        hours = [1e6 / each / 3600 for each in (known(rate.high), rate.value, known(rate.low))]
        assert numbers(row.cost) == pytest.approx([1.2 * each for each in hours]), "the higher rate is the lower cost"


def test_a_wrong_answer_has_no_cost() -> None:
    run = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency",), unequal=[("jax", "mlp")])
    rows = {row.arm: row for row in blocks(priced(run))["latency"].rows}
    assert isinstance(rows["jax"].cost, Absent)
    assert rows["jax"].cost.reason.startswith("not equal to the reference")
    assert isinstance(rows["torch"].cost, Estimate)


def test_a_training_to_a_target_costs_its_time() -> None:
    run = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("convergence",), generations=MIN_LAUNCHES)
    block = blocks(priced(run))["convergence"]
    (analysed,) = analyse(run).convergence
    assert block.target == analysed.target
    for row, trained in zip(block.rows, analysed.rows, strict=True):
        assert numbers(row.cost) == pytest.approx(numbers(known(trained.time_ns).scaled(1.2 / 3.6e12)))
