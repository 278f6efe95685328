"""All bindings and constants."""

from functools import cache

from tests.figures import code, explained, overhead, runs, trials
from tests.figures.checking import Figure, Passage, constants, filled

FIGURES: list[Figure] = [*runs.FIGURES, *trials.FIGURES, *overhead.FIGURES, *explained.FIGURES, *code.FIGURES]


@cache
def passages() -> tuple[Passage, ...]:
    """Compute every value, once."""
    return (*(filled(figure) for figure in FIGURES), *constants())
