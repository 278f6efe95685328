"""Insights of a record, for tests."""

from suite.analysis import analyse
from suite.analysis.types import Insights
from suite.record.schema import Run


def derived(run: Run) -> Insights:
    return analyse(run).insights
