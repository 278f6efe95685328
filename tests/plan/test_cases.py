"""Which cases there are, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from suite import scenarios
from suite.plan import Selection, make

CPUS = (0, 1, 2, 3)

ON_CPU = [name for name in scenarios.NAMES if not scenarios.get(name).on_device]


@given(st.permutations(ON_CPU).flatmap(lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count]))))
def test_cold_starts_come_first_and_blocks_of_one_scenario_stay_together(scenarios: tuple[str, ...]) -> None:
    made = make(Selection(scenarios=scenarios), available=CPUS)
    order = ["cold-start", "memory", "latency", "throughput", "training", "convergence", "data-pipeline"]
    asked = [order.index(block.case.scenario) for block in made.blocks]
    assert asked == sorted(asked)
    assert set(made.scenarios) == set(scenarios)


def test_every_precision_and_number_of_threads_is_a_case_of_its_own() -> None:
    selection = Selection(
        models=("mlp",), scenarios=("latency",), precisions=("fp32", "bf16"), threads=(2, 1), control="none"
    )
    made = make(selection, available=CPUS)
    assert made.threads == (1, 2)
    assert made.cpus == (0, 1)
    assert [block.case.id for block in made.blocks] == [
        "mlp/latency/fp32/b1/t1/cpu",
        "mlp/latency/fp32/b1/t2/cpu",
        "mlp/latency/bf16/b1/t1/cpu",
        "mlp/latency/bf16/b1/t2/cpu",
    ]
