"""The committed records, read once, and what the project's own functions compute from them again."""

from functools import cache

from studies import images
from studies.folklore import findings, forms
from studies.folklore.record import Folklore, Row
from studies.overhead.record import Trial
from studies.record import read
from studies.rigor.record import Finding, Stream, Tally, Variance
from studies.upgrades import record as upgrades_record
from suite.analysis import analyse
from suite.analysis.types import Analysis, ConvergenceRow
from suite.record import files
from suite.record.schema import Run
from tests.commands import ROOT

REPORTS = ROOT / "reports"
TRIALS = REPORTS / "trials"
DEFAULT = "20261124-213024-standard-a2f1"
"""The run whose report the README shows: the default profile, images there, on a quiet machine."""
DEFAULT_AGAIN = "20261124-225429-standard-8a6c"
"""The same an hour later."""
EXAMPLE = "20261121-163925-standard-22a3"
"""An older one, which measured the throughput of every model."""
CONVERGENCE = "20261122-041102-standard-212d"
FORMS, FORMS_AGAIN = "20261122-224306-standard-67ff", "20261122-233334-standard-18e8"
"""All forms of preparing fixed weights side by side; and one pair again."""
SPIN = "spin-2026-11-22"
QUIET, PAIR = "rigor-2026-11-21", "rigor-2026-11-22-pair"
BUSY, BUSY_AGAIN = "rigor-2026-11-22-busy", "rigor-2026-11-23-busy"


@cache
def run(name: str) -> Run:
    return files.read(REPORTS / name)


@cache
def analysis(name: str) -> Analysis:
    return analyse(run(name))


@cache
def trainings(model: str) -> dict[str, ConvergenceRow]:
    """Return the trainings to a target of one model, by arm."""
    block = next(each for each in analysis(CONVERGENCE).convergence if each.case.model == model)
    return {row.arm: row for row in block.rows}


@cache
def stream(name: str) -> Stream:
    return read(TRIALS / f"{name}.json", Stream)


@cache
def rules(name: str) -> dict[str, Finding]:
    """Return what every rule makes of a stream; `studies/tests/rigor/test_published.py` judges it again."""
    return {finding.rule: finding for finding in stream(name).findings}


@cache
def variance(name: str) -> Variance:
    found = stream(name).variance
    assert found is not None
    return found


def rule(name: str, *parts: str) -> Finding:
    """Return the one rule of a stream whose name holds these parts."""
    found = [each for title, each in rules(name).items() if all(part in title for part in parts)]
    assert len(found) == 1, f"{name} has {len(found)} rules with {parts}: {', '.join(rules(name))}"
    return found[0]


def tally(finding: Finding, effect: float) -> Tally:
    return next(each for each in finding.tallies if each.effect == effect)


@cache
def upgrades(name: str) -> upgrades_record.Record:
    return read(TRIALS / f"{name}.json", upgrades_record.Record)


@cache
def counted(name: str) -> dict[str, upgrades_record.Finding]:
    """Count a trial of upgrades again, by kind."""
    return {finding.kind: finding for finding in upgrades_record.findings(upgrades(name).trials)}


@cache
def folklore() -> Folklore:
    return read(TRIALS / "folklore-2026-11-22.json", Folklore)


@cache
def rejudged() -> dict[str, Row]:
    """Judge the published comparison again, by framework."""
    record = folklore()
    measured = [each for each in forms.FRAMEWORKS if each.backend not in record.failures]
    return {row.title: row for row in findings.rows(measured, record.generations, record.said)}


@cache
def overhead(name: str) -> Trial:
    return read(TRIALS / f"{name}.json", Trial)


@cache
def rebuilt() -> images.Record:
    return read(TRIALS / "images-2026-11-22.json", images.Record)
