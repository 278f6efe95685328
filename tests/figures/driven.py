"""The tables of docs/loadgen.md: of the newest record of the trial, and of a published run."""

import re
from collections.abc import Iterator
from functools import partial

from studies.loadgen.findings import markdown
from studies.loadgen.record import Trial
from studies.record import read
from suite.report import loadgen, sentences, units
from tests.figures import records
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/loadgen.md"
RUN = "20261126-195621-standard-5280"
LATEST = max(TRIALS.glob("loadgen-????-??-??.json"), default=None)


def trial() -> Iterator[str]:
    """Yield the lines of the newest record's table and findings; none where there is no record."""
    if LATEST is not None:
        yield from (line for line in markdown(read(LATEST, Trial)).splitlines() if line.startswith(("|", "- ")))


def run() -> Iterator[str]:
    """Yield the lines of the published run's table, the fastest arm in LoadGen first."""
    analysis = records.analysis(RUN)
    (latency,) = (block for block in analysis.timed if block.case.scenario == "latency")
    (driven,) = analysis.loadgen
    times = {row.arm: sentences.cost(row, latency.case) for row in latency.rows if row.is_equal}
    for row in driven.rows:
        if row.standing == "ranked" and row.arm in times:
            cells = (times[row.arm], loadgen.cost(row), units.times(row.against_own), loadgen.validity(row))
            yield f"| {row.arm} | {' | '.join(cells)} |"


def figure(line: str) -> Figure:
    """Return what holds that the page has a line."""
    return Figure(PAGE, re.sub(r"\d+", "{}", line), partial(re.findall, r"\d+", line))


FIGURES = [figure(line) for line in (*trial(), *run())]
