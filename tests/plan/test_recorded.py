"""A plan, from the record that it led to."""

import msgspec
import pytest

from suite import plan
from suite.plan import Selection, make
from suite.record.schema import SCHEMA, Run, Settings

CPUS = (0, 1, 2, 3)


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(profile="smoke"),
        Selection(profile="full", models=("mlp",), batches=(3, 5), threads=(2,)),
        Selection(scenarios=("memory",), backends=("jax",)),
        Selection(precisions=("fp32", "bf16"), threads=(4, 1), models=("mlp",)),
    ],
)
def test_a_record_tells_its_plan(selection: Selection) -> None:
    made = make(selection, available=CPUS)
    run = Run(
        schema=SCHEMA,
        id="x",
        started="x",
        tool_version="x",
        tool_sha256="x",
        command=(),
        settings=Settings(
            profile=made.profile.name,
            models=made.models,
            backends=made.backends,
            scenarios=made.scenarios,
            precisions=made.precisions,
            batches=made.batches,
            threads=max(made.threads),
            thread_counts=made.threads if len(made.threads) > 1 else (),
            training_batches=made.training_batches,
            cpus=made.cpus,
            generations=made.profile.generations,
            rounds=made.profile.rounds,
            budget_seconds=None,
            precision_target=0.01,
            margin=0.02,
            seed=1,
            launcher="docker",
        ),
        machine={},
        images=(),
        artifacts=(),
        blocks=made.blocks,
    )
    assert plan.of(msgspec.json.decode(msgspec.json.encode(run), type=Run)) == made
