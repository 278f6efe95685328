"""Insights of a record, for tests."""

from levelfield.analysis import analyse
from levelfield.analysis.types import Insights
from levelfield.record.schema import Run


def derived(run: Run) -> Insights:
    return analyse(run).insights
