"""Cost is time times price, emissions are measured energy times intensity, and what was not measured is absent."""

import msgspec
import pytest

from suite.analysis import analyse, energy, money
from suite.analysis.types import Estimate
from suite.record.schema import Absent, Convergence, Launch, Price, Run
from suite.statistics.student import MIN_LAUNCHES
from tests.analysis.test_convergence import changed
from tests.analysis.test_device import on_gpu
from tests.analysis.test_energy import with_energy
from tests.records_builder import make_run

EUR = Price(1.2, "EUR")


def priced(run: Run, price: Price | None = EUR, carbon: float | None = 380.0) -> Run:
    return money.at(run, price, carbon)


def blocks(run: Run) -> dict[str, money.CostBlock]:
    return {block.case.scenario: block for block in money.summarise(run, analyse(run))}


def numbers(value: Estimate | Absent) -> tuple[float, float, float]:
    assert isinstance(value, Estimate)
    assert value.low is not None
    assert value.high is not None
    return value.low, value.value, value.high


@pytest.fixture
def run() -> Run:
    return make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency", "throughput", "memory"))


def test_without_a_price_there_are_no_costs(run: Run) -> None:
    assert money.summarise(run, analyse(run)) == ()


def test_a_million_items_cost_their_time(run: Run) -> None:
    """By hand: a call of t ns is t × 10⁶ ÷ 3.6 × 10¹² hours; its bounds are those of the time."""
    found = blocks(priced(run))
    assert set(found) == {"latency", "throughput"}, "peak memory takes no time"
    analysed = {block.case.scenario: block for block in analyse(run).timed}
    for row, timed in zip(found["latency"].rows, analysed["latency"].rows, strict=True):
        assert timed.median_ns is not None
        expected = timed.median_ns.scaled(1e6 / 3.6e12 * 1.2)
        assert row.arm == timed.arm
        assert numbers(row.cost) == pytest.approx((expected.low, expected.value, expected.high))
    for row, timed in zip(found["throughput"].rows, analysed["throughput"].rows, strict=True):
        rate = timed.items_per_second
        assert rate is not None
        assert rate.low is not None
        assert rate.high is not None
        hours = [1e6 / each / 3600 for each in (rate.high, rate.value, rate.low)]
        assert numbers(row.cost) == pytest.approx([1.2 * each for each in hours]), "the higher rate is the lower cost"


def test_emissions_are_those_of_measured_energy(run: Run) -> None:
    """A call takes 0.05 J: a million of them 50 kJ, which is 50/3600 kWh."""
    found = blocks(priced(with_energy(run, 50_000)))
    latency, throughput = found["latency"], found["throughput"]
    assert latency.counters == ("the processor",)
    for row in latency.rows:
        assert numbers(row.carbon_g) == pytest.approx([380 * 50 / 3600] * 3), "the same in every launch"
    for row in throughput.rows:
        assert numbers(row.carbon_g)[1] == pytest.approx(380 * 50 / 3600 / throughput.case.batch)


def test_launches_too_short_for_the_counter_leave_no_interval(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = with_energy(run, 50_000)
    (first, *_), *_ = (energy.counted_by_launch(block, "torch").values() for block in recorded.blocks)
    launch_s = sum(turn.noise.elapsed_ns for turn in first if turn.noise is not None) / 1e9
    monkeypatch.setattr(energy, "MIN_RAPL_S", 1.5 * launch_s)
    for row in blocks(priced(recorded))["latency"].rows:
        assert isinstance(row.carbon_g, Estimate)
        assert row.carbon_g.value == pytest.approx(380 * 50 / 3600)
        assert (row.carbon_g.low, row.carbon_g.high) == (None, None)


def test_where_no_energy_was_measured_the_reason_stands(run: Run) -> None:
    for recorded, reason in (
        (with_energy(run, Absent("a virtual machine has no RAPL")), "a virtual machine has no RAPL"),
        (with_energy(run, 0), "the energy counter did not move"),
    ):
        block = blocks(priced(recorded))["latency"]
        assert [row.carbon_g for row in block.rows] == [Absent(reason)] * len(block.rows)
        assert block.counters == ()
        assert all(isinstance(row.cost, Estimate) for row in block.rows), "costs need no counter"


def test_a_gpus_energy_comes_first_and_the_processors_is_added(run: Run) -> None:
    moved = tuple(
        msgspec.structs.replace(block, case=msgspec.structs.replace(block.case, device="cuda")) for block in run.blocks
    )
    on_device = msgspec.structs.replace(run, blocks=moved)
    whole = blocks(priced(on_gpu(with_energy(on_device, 50_000))))["latency"]
    alone = blocks(priced(on_gpu(on_device)))["latency"]
    without = blocks(priced(with_energy(on_device, 50_000)))["latency"]
    assert whole.counters == ("the processor", "the GPU")
    assert alone.counters == ("the GPU",)
    assert numbers(whole.rows[0].carbon_g)[1] == pytest.approx(2 * numbers(alone.rows[0].carbon_g)[1])
    assert all(isinstance(row.carbon_g, Absent) for row in without.rows), "the GPU's is the least that must be known"


def test_only_what_is_asked_for_is_computed(run: Run) -> None:
    recorded = with_energy(run, 50_000)
    (row, *_) = blocks(priced(recorded, price=None))["latency"].rows
    assert row.cost == Absent("no price was given")
    assert isinstance(row.carbon_g, Estimate)
    (row, *_) = blocks(priced(recorded, carbon=None))["latency"].rows
    assert row.carbon_g == Absent("no carbon intensity was given")


def test_a_wrong_answer_has_no_cost() -> None:
    run = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("latency",), unequal=[("jax", "mlp")])
    rows = {row.arm: row for row in blocks(priced(with_energy(run, 50_000)))["latency"].rows}
    for value in (rows["jax"].cost, rows["jax"].carbon_g):
        assert isinstance(value, Absent)
        assert value.reason.startswith("not equal to the reference")
    assert isinstance(rows["torch"].cost, Estimate)


def test_a_training_to_a_target_costs_its_time() -> None:
    run = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("convergence",), generations=MIN_LAUNCHES)
    block = blocks(priced(run))["convergence"]
    (analysed,) = analyse(run).convergence
    assert block.target == analysed.target
    for row, trained in zip(block.rows, analysed.rows, strict=True):
        assert trained.time_ns is not None
        assert numbers(row.cost) == pytest.approx(numbers(trained.time_ns.scaled(1.2 / 3.6e12)))
        assert isinstance(row.carbon_g, Absent)
        assert "energy is counted over windows" in row.carbon_g.reason


def test_an_arm_that_did_not_always_reach_the_target_has_no_cost() -> None:
    run = make_run(models=("mlp",), backends=("torch", "jax"), scenarios=("convergence",), generations=MIN_LAUNCHES)

    def slow(index: int, launch: Launch) -> Launch:
        if index or launch.convergence is None:
            return launch
        points = tuple(msgspec.structs.replace(each, accuracy=0.5) for each in launch.convergence.points)
        training: Convergence = msgspec.structs.replace(launch.convergence, points=points)
        return msgspec.structs.replace(launch, convergence=training)

    rows = {row.arm: row for row in blocks(priced(changed(run, "jax", slow)))["convergence"].rows}
    missed = rows["jax"].cost
    assert isinstance(missed, Absent)
    assert "did not reach" in missed.reason
    assert isinstance(rows["torch"].cost, Estimate)
