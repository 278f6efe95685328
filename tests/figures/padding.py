"""Figures of the padding trial: what a random length of the environment does to the variance between launches."""

from studies.padding.findings import find
from studies.padding.record import Finding, Trial
from studies.record import read
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

METHOD = "docs/method.md"
PADDING = "padding-2026-11-24"


def _found(model: str) -> list[object]:
    """Return the ratio of variances with its interval, and the correlation with its own, of one model."""
    found: Finding = next(
        find(cell) for cell in read(TRIALS / f"{PADDING}.json", Trial).cells if cell.case.model == model
    )
    return [
        *(f"{value:.2f}" for value in (found.variance_ratio, found.ratio_low, found.ratio_high)),
        *(f"{value:.2f}" for value in (found.correlation, found.correlation_low, found.correlation_high)),
    ]


FIGURES = [
    Figure(
        METHOD,
        "The variance between launches with random padding was {} times that without for the MLP ({} to {}); "
        "levels and lengths correlated by {} ({} to {}).",
        lambda: _found("mlp"),
    ),
    Figure(
        METHOD,
        "For ResNet-50 it was {} times ({} to {}), and the correlation {} ({} to {}).",
        lambda: _found("resnet50"),
    ),
]
