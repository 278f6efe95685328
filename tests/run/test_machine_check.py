"""What `levelfield doctor --measure` concludes, from data and once for real."""

import pytest

from levelfield.record.schema import MachineLevels, MachineProbe, Run
from levelfield.record.states import levels
from levelfield.run.machine_check import DECIDED_S, conclude
from tests.analysis.probed import BUSY, CALM
from tests.records_builder import make_run

SECONDS = 80.0


def identical(noise_scale: float = 1.0) -> Run:
    """A comparison of two programs that are the same."""
    return make_run(
        models=("mlp",),
        backends=("jax",),
        control="jax",
        scenarios=("latency",),
        generations=20,
        noise_scale=noise_scale,
    )


def spells(*seconds: float) -> list[tuple[float, MachineProbe]]:
    """Probes every 50 ms: calm for so long, then contended for so long, and so on."""
    found, at = [], 0.0
    for number, length in enumerate(seconds):
        for _ in range(round(length / 0.05)):
            found.append((at, BUSY if number % 2 else CALM))
            at += 0.05
    return found


MOMENTS = spells(1.0, 0.5, 2.0, 1.0, 2.0, 0.5, 1.0)


def known(moments: list[tuple[float, MachineProbe]]) -> MachineLevels:
    found = levels([probe for _, probe in moments])
    assert found is not None
    return found


KNOWN = known(MOMENTS)


def test_levels_share_and_lengths_of_states() -> None:
    found = conclude(MOMENTS, KNOWN, identical(), SECONDS, kept=True)
    assert found.knowledge == "two states seen"
    assert found.calm_share == pytest.approx(0.75, abs=0.01)
    assert found.calm_s == pytest.approx(2.0, abs=0.1), "of spells that began and ended"
    assert found.contended_s == pytest.approx(2 / 3, abs=0.1)
    assert found.contended_arithmetic == pytest.approx(BUSY.arithmetic_ns / CALM.arithmetic_ns)


def test_the_smallest_difference_follows_from_how_identical_programs_scatter() -> None:
    quiet, noisy = (conclude(MOMENTS, KNOWN, identical(noise_scale=scale), SECONDS, kept=True) for scale in (0.5, 2.0))
    assert quiet.launches == noisy.launches == 20
    assert quiet.smallest_launches == round(DECIDED_S / (SECONDS / 20)) == 90
    assert quiet.smallest is not None
    assert noisy.smallest is not None
    assert 0 < quiet.smallest < noisy.smallest
    assert quiet.ratio is not None
    assert quiet.ratio.low is not None
    assert quiet.ratio.high is not None
    assert quiet.ratio.low < 1.005
    assert quiet.ratio.high > 0.995
