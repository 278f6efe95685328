"""All bindings and constants."""

from functools import cache

from tests.figures import (
    attacks,
    beyond,
    bracket,
    code,
    driven,
    explained,
    fleets,
    forms,
    gates,
    goals,
    gpu,
    gpu_again,
    gradient_mean,
    loading,
    overhead,
    padding,
    peers,
    reboots,
    regressions,
    runs,
    sequential,
    sides,
    spin,
    trials,
)
from tests.figures.checking import Figure, Passage, constants, filled

FIGURES: list[Figure] = [
    *runs.FIGURES,
    *trials.FIGURES,
    *forms.FIGURES,
    *spin.FIGURES,
    *padding.FIGURES,
    *overhead.FIGURES,
    *explained.FIGURES,
    *code.FIGURES,
    *attacks.FIGURES,
    *regressions.FIGURES,
    *sequential.FIGURES,
    *bracket.FIGURES,
    *fleets.FIGURES,
    *reboots.FIGURES,
    *sides.FIGURES,
    *goals.FIGURES,
    *gradient_mean.FIGURES,
    *gates.FIGURES,
    *gpu.FIGURES,
    *gpu_again.FIGURES,
    *beyond.FIGURES,
    *driven.FIGURES,
    *loading.FIGURES,
    *peers.FIGURES,
]


@cache
def passages() -> tuple[Passage, ...]:
    """Compute every value, once."""
    return (*(filled(figure) for figure in FIGURES), *constants())
