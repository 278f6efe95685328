"""The table of docs/weights.md: that of the newest record of the trial, line by line."""

import re
from collections.abc import Iterator
from functools import partial

from studies.loading.findings import markdown
from studies.loading.record import Trial
from studies.record import read
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/weights.md"
LATEST = max(TRIALS.glob("loading-????-??-??.json"))


def lines() -> Iterator[str]:
    """Yield the lines of the newest record's table and findings."""
    yield from (line for line in markdown(read(LATEST, Trial)).splitlines() if line.startswith(("|", "- ")))


def figure(line: str) -> Figure:
    """Return what holds that the page has a line."""
    return Figure(PAGE, re.sub(r"\d+", "{}", line), partial(re.findall, r"\d+", line))


FIGURES = [figure(line) for line in lines()]
