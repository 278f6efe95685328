"""From which batch on a larger one gains nothing."""

import pytest

from levelfield.analysis.insights import saturation
from levelfield.analysis.types import Estimate
from tests.analysis.insights.derived import derived
from tests.records_builder import LEVELS_MS, make_run


def test_a_batch_that_gains_nothing_saturates() -> None:
    (found,) = derived(make_run(models=("resnet50",), noise_scale=0.0)).saturation
    assert found.batches == (1, 8)
    assert found.case.id == "resnet50/throughput/fp32/b8/t2/cpu"
    arms = {arm.arm: arm for arm in found.arms}
    assert LEVELS_MS["resnet50", 8][4] > 8 * LEVELS_MS["resnet50", 1][4], "JAX is slower an item with the larger batch"
    assert arms["jax"].saturates_at == 1
    assert arms["jax"].gain == pytest.approx(1.0)
    assert arms["torch"].saturates_at is None
    assert arms["torch"].gain == pytest.approx(47 / (281 / 8), rel=0.001)


@pytest.mark.parametrize(
    ("spans", "reached", "allowed"),
    [
        ({1: (90, 89, 91), 8: (100, 99, 101)}, 8, (8,)),
        ({1: (97, 96.5, 97.5), 8: (100, 99, 101)}, 1, (1,)),
        ({1: (90, 86, 94.1), 8: (100, 99, 101)}, 8, (1, 8)),
        ({1: (50, 45, 55), 4: (93, 91, 96), 8: (98, 95, 99), 32: (100, 99, 101)}, 8, (4, 8, 32)),
        ({1: (100, 99, 101), 8: (90, 89, 91)}, 1, (1,)),
        ({1: (100, None, None), 8: (90, 89, 91)}, 1, ()),
    ],
)
def test_what_the_intervals_allow_holds_what_was_found(
    spans: dict[int, tuple[float, float | None, float | None]], reached: int, allowed: tuple[int, ...]
) -> None:
    arm = saturation.reached("jax", "jax", {batch: Estimate(*span) for batch, span in spans.items()})
    assert arm.saturates_at == (None if reached == max(spans) else reached)
    assert arm.allowed == allowed
    assert reached in allowed or not allowed
