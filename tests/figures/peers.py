"""The tables of docs/peers.md: those of the newest record of the trial, line by line, where one is committed."""

import re
from collections.abc import Iterator
from functools import partial

from suite.trials.peers.record import Trial
from suite.trials.peers.show import markdown
from suite.trials.record import read
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/peers.md"
ABSENT = "No record of this trial is published yet"
"""What the page says instead of tables."""
LATEST = max(TRIALS.glob("peers-????-??-??.json"), default=None)


def lines() -> Iterator[str]:
    """Yield the lines of the newest record's tables; none where there is no record."""
    if LATEST is not None:
        yield from (line for line in markdown(read(LATEST, Trial)).splitlines() if line)


def figure(line: str) -> Figure:
    """Return what holds that the page has a line of the tables."""
    return Figure(PAGE, re.sub(r"\d+", "{}", line), partial(re.findall, r"\d+", line))


FIGURES = [figure(line) for line in lines()]
