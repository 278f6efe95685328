"""Main effects and interactions of records whose truth is known."""

from collections.abc import Sequence

import pytest

from suite.compare.cross import CrossEffect, judge_cross
from suite.compare.types import Gate
from suite.record.schema import Run
from suite.statistics.verdicts import Verdict
from tests.records_builder import BACKENDS, LEVELS_MS, make_run

CELLS = ("onnxruntime", "openvino", "torch", "jax")
"""Stand for the combinations 00, 01, 10 and 11."""
AXES = ("version", "numpy")
SAME, SLOWER = Verdict.SAME, Verdict.SLOWER


def _run(costs: Sequence[float], generations: int = 12) -> Run:
    """Make a record in which the combinations cost so many times the same."""
    of = LEVELS_MS["resnet50", 1]
    slower = {cell: cost / of[BACKENDS.index(cell)] for cell, cost in zip(CELLS, costs, strict=True)}
    run = make_run(
        backends=CELLS,
        models=("resnet50",),
        scenarios=("latency",),
        generations=generations,
        noise_scale=0.1,
        slower=slower,
    )
    assert [arm.backend for arm in run.blocks[0].arms] == list(CELLS)
    return run


def _judged(costs: Sequence[float]) -> dict[tuple[str, ...], CrossEffect]:
    return {each.axes: each for each in judge_cross(_run(costs), AXES, Gate())}


@pytest.mark.parametrize(
    ("costs", "verdicts"),
    [
        ((1, 1, 1, 1), (SAME, SAME, SAME)),
        ((1, 1, 1.1, 1.1), (SLOWER, SAME, SAME)),
        ((1, 1.1, 1, 1.1), (SAME, SLOWER, SAME)),
        ((1, 1.1, 1.1, 1.21), (SLOWER, SLOWER, SAME)),
        ((1.1, 1, 1, 1.1), (SAME, SAME, SLOWER)),
    ],
)
def test_verdicts_are_those_of_the_truth(costs: Sequence[float], verdicts: Sequence[Verdict]) -> None:
    found = _judged(costs)
    assert list(found) == [("version",), ("numpy",), AXES]
    assert [each.judgement.verdict for each in found.values()] == list(verdicts)


def test_an_interaction_is_a_ratio_of_ratios() -> None:
    assert _judged((1, 1, 1, 1.2))[AXES].judgement.ratio.value == pytest.approx(1.2, abs=0.02)


def test_cases_without_enough_generations_are_left_out() -> None:
    assert judge_cross(_run((1, 1, 1, 1), generations=2), AXES, Gate()) == ()
