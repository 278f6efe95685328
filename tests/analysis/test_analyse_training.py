"""What follows from a record that holds training."""

import msgspec
import pytest

from suite.analysis import analyse
from suite.analysis.types import TimedBlock
from suite.record.schema import Run
from tests.records_builder import make_run

SCENARIOS = ("latency", "training")


def training(run: Run) -> TimedBlock:
    (block,) = (block for block in analyse(run).timed if block.case.trains)
    return block


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run(models=("mlp",), scenarios=SCENARIOS)


def test_it_is_ranked_by_items_a_second(run: Run) -> None:
    block = training(run)
    assert block.case.id == "mlp/training/fp32/b1000/t2/cpu"
    assert {row.arm for row in block.rows} == {"torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"}
    assert block.best == "jax"
    row = next(row for row in block.rows if row.arm == "torch")
    assert row.items_per_second is not None
    assert row.median_ns is not None
    assert row.items_per_second.value == pytest.approx(1000 / row.median_ns.value * 1e9, rel=0.03)
    assert row.p90_ns is not None
    assert row.peak_bytes == pytest.approx(0.6 * 2**30, rel=0.1)
    latency = next(block for block in analyse(run).timed if not block.case.trains)
    assert all(row.peak_bytes is None for row in latency.rows), "its launches did other work too"


def test_an_answer_does_not_speak_for_a_training_nor_the_other_way_round(run: Run) -> None:
    status = analyse(run).status
    assert (status.answers, status.answers_equal) == (7 + 5, 12)

    def without(block_trains: bool) -> Run:
        blocks = []
        for block in run.blocks:
            generations = block.generations
            if block.case.trains == block_trains:
                generations = tuple(
                    msgspec.structs.replace(
                        each,
                        launches=tuple(msgspec.structs.replace(launch, parity=None) for launch in each.launches),
                    )
                    for each in generations
                )
            blocks.append(msgspec.structs.replace(block, generations=generations))
        return msgspec.structs.replace(run, blocks=tuple(blocks))

    for trains in (True, False):
        for block in analyse(without(trains)).timed:
            compared = block.case.trains != trains
            assert {row.standing for row in block.rows} == {"ranked" if compared else "shown"}


def test_a_training_that_is_not_equal_is_not_ranked_and_says_why() -> None:
    run = make_run(models=("mlp",), scenarios=("training",), unequal=[("jax", "mlp")])
    block = training(run)
    assert block.best != "jax"
    assert next(row.standing for row in block.rows if row.arm == "jax") == "unequal"
    (warning,) = (each for each in analyse(run).warnings if each.code == "trains-otherwise")
    assert warning.about == "jax/mlp training/fp32"
    assert analyse(run).exit_code == 1
