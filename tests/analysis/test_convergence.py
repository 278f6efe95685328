"""What follows from a record of trainings to a target accuracy."""

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.summary import reduce
from levelfield.analysis.types import ConvergenceBlock, ConvergenceRow
from levelfield.record.schema import Convergence, Evaluation, Generation, Launch, Run
from tests.known import known
from tests.records_builder import LEVELS_MS, make_run, with_generations

STEPS = (90, 100, 110, 120, 90)
"""To the target, seed by seed, as the builder has them."""


def block(run: Run) -> ConvergenceBlock:
    (found,) = analyse(run).convergence
    return found


def row(run: Run, arm: str) -> ConvergenceRow:
    return next(each for each in block(run).rows if each.arm == arm)


def changed(run: Run, arm: str, change: Callable[[int, Launch], Launch]) -> Run:
    """Change the launches of one arm; the function takes the generation's index and the launch."""

    def in_generation(each: Generation) -> Generation:
        launches = (change(each.index, launch) if launch.arm == arm else launch for launch in each.launches)
        return msgspec.structs.replace(each, launches=tuple(launches))

    return with_generations(run, in_generation)


def training(launch: Launch) -> Convergence:
    return known(launch.convergence)


def too_slow(seed: int) -> Callable[[int, Launch], Launch]:
    """Let one seed end at nine tenths of what it reached."""

    def change(index: int, launch: Launch) -> Launch:
        if index != seed:
            return launch
        there = training(launch)
        points = tuple(msgspec.structs.replace(point, accuracy=0.9 * point.accuracy) for point in there.points)
        return msgspec.structs.replace(launch, convergence=msgspec.structs.replace(there, points=points))

    return change


def diverging(index: int, launch: Launch) -> Launch:
    if index != 2:
        return launch
    there = training(launch)
    said = "Training diverged: the loss of step 13 is nan."
    cut = msgspec.structs.replace(there, points=there.points[:1], diverged=said)
    return msgspec.structs.replace(launch, convergence=cut)


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run(models=("mlp",), scenarios=("convergence",))


def test_arms_are_ranked_by_the_time_to_the_target(run: Run) -> None:
    found = block(run)
    assert found.case.id == "mlp/convergence/fp32/b64/t2/cpu"
    assert (found.network, found.target, found.limit, found.generations) == ("digits_mlp", 0.97, 300, 5)
    assert found.best == "jax"
    assert [each.arm for each in found.rows][-1] == "tensorflow"
    assert all(each.standing == "ranked" for each in found.rows)
    assert found.unranked_reason == ""


def test_time_and_steps_are_means_over_seeds_on_the_log_scale(run: Run) -> None:
    jax = row(run, "jax")
    step_ns = 3e6 * LEVELS_MS["mlp", 1000][4]
    typical = math.exp(float(np.log(STEPS).mean()))
    assert known(jax.steps).value == pytest.approx(typical)
    assert jax.time_ns is not None
    assert known(jax.time_ns.low) < jax.time_ns.value < known(jax.time_ns.high)
    assert jax.time_ns.value == pytest.approx(typical * step_ns, rel=0.02)
    assert jax.median_steps == 100
    assert jax.step_ns == pytest.approx(step_ns, rel=0.02)
    assert jax.accuracy == 0.9875
    assert (jax.launches, jax.seeds_reached, jax.seeds_diverged) == (5, 5, 0)
    assert jax.load_ns == pytest.approx(1.9e9, rel=0.1), "compiling is told apart"
    assert [curve.reached.step for curve in jax.curves if curve.reached] == list(STEPS)


def test_seeds_cancel_in_a_ratio(run: Run) -> None:
    """Steps differ by a third from seed to seed; the ratio, paired by seed, knows nothing of it."""
    second = next(each for each in block(run).rows if each.arm == "torch-compile")
    assert second.time_ns is not None
    assert second.ratio is not None
    assert known(second.time_ns.high) / known(second.time_ns.low) > 1.3
    assert known(second.ratio.high) / known(second.ratio.low) < 1.15
    assert second.ratio.value == pytest.approx(0.49 / 0.47, rel=0.03)


def test_one_seed_that_never_gets_there_takes_the_rank(run: Run) -> None:
    found = changed(run, "jax", too_slow(3))
    jax = row(found, "jax")
    assert (jax.standing, jax.rank, jax.seeds_reached) == ("shown", None, 4)
    assert jax.reason == "1 of 5 seeds did not reach 97 % within 300 steps (the best of them 88.9 %)"
    assert jax.steps is not None
    assert block(found).best == "torch-compile", "the others are ranked without it"
    assert analyse(found).exit_code == 0


def test_an_arm_that_never_gets_there_has_failed(run: Run) -> None:
    found = run
    for seed in range(5):
        found = changed(found, "torch", too_slow(seed))
    torch = row(found, "torch")
    assert torch.standing == "failed"
    assert torch.reason.startswith("5 of 5 seeds did not reach 97 %")
    assert (torch.time_ns, torch.steps, torch.seeds_reached) == (None, None, 0)
    assert torch.accuracy is not None
    assert analyse(found).exit_code == 1
    alone = msgspec.structs.replace(found.blocks[0], arms=tuple(a for a in found.blocks[0].arms if a.id == "torch"))
    analysis = analyse(msgspec.structs.replace(found, blocks=(alone,)))
    assert "whose answer is equal" in analysis.convergence[0].unranked_reason


def test_a_seed_that_diverges_is_counted_and_costs_its_own_arm_only(run: Run) -> None:
    found = changed(run, "tensorflow", diverging)
    tensorflow = row(found, "tensorflow")
    assert (tensorflow.standing, tensorflow.seeds_diverged) == ("shown", 1)
    assert tensorflow.reason == "1 of 5 seeds diverged: Training diverged: the loss of step 13 is nan"
    assert all(each.standing == "ranked" for each in block(found).rows if each.arm != "tensorflow")


@pytest.mark.parametrize(
    "point",
    [
        Evaluation(step=10, elapsed_ns=0, loss=1.0, accuracy=1.0),
        Evaluation(step=0, elapsed_ns=5, loss=1.0, accuracy=1.0),
        Evaluation(step=-5, elapsed_ns=-(2**60), loss=-1e300, accuracy=7e300),
    ],
)
def test_impossible_points_are_no_times(run: Run, point: Evaluation) -> None:
    def change(index: int, launch: Launch) -> Launch:
        del index
        return msgspec.structs.replace(launch, convergence=msgspec.structs.replace(training(launch), points=(point,)))

    jax = row(changed(run, "jax", change), "jax")
    assert jax.time_ns is None
    assert jax.standing == "failed"


def test_other_seeds_are_another_question_to_a_comparison(run: Run) -> None:
    def inputs(record: Run) -> frozenset[str]:
        return reduce(record, "0" * 64).answers["jax", record.blocks[0].case.id].inputs

    again = make_run(models=("mlp",), scenarios=("convergence",), seed=9)
    more = make_run(models=("mlp",), scenarios=("convergence",), generations=6)
    assert len(inputs(run)) == 1, "or nothing would ever be compared"
    assert inputs(run) == inputs(again) != inputs(more)
