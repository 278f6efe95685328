"""The page that follows from a record, made again: every figure anew from the samples."""

import click
import msgspec

from suite import analysis
from suite.ab import comparison as pairs
from suite.analysis.types import Analysis
from suite.comparing.formats.html import within
from suite.comparing.types import Gate
from suite.errors import LevelfieldError
from suite.options import PERCENT
from suite.provenance.page import Difference, Tables, differences, tables, take_apart
from suite.records.schema import Run
from suite.report import html, inside, restoring
from suite.report.inside import Evidence, Inside


class Again(msgspec.Struct, frozen=True):
    """A page made again, held against the one that was given."""

    differing: int
    named: tuple[Difference, ...]
    tables: Tables
    """Looked at where parts differ, for pages of other versions."""


def from_record(run: Run, evidence: Evidence, given: str) -> Again:
    """Render the page of a whole record, and compare."""
    return _compare(run, analysis.analyse(run), evidence, given)


def from_inside(evidence: Evidence, given: str) -> Again:
    """Render the page of the record that travels inside it, and compare.

    Medians of windows that were thinned are those that travel beside them, and so are their results' upper quantiles.
    """
    embedded = evidence.inside.embedded
    run = restoring.restored(embedded)
    found = restoring.with_tails(analysis.analyse(run), embedded)
    return _compare(run, found, evidence, given)


def _compare(run: Run, found: Analysis, evidence: Evidence, given: str) -> Again:
    best: Again | None = None
    for gate in _gates(run):
        within_page = None
        if gate is not None:
            within_page = within(pairs.compare(run, gate, evidence.inside.embedded.record_sha256))
        page = html.render(run, found, comparison=within_page, evidence=evidence)
        around = take_apart(page).around
        count, named = differences(given, around)
        if best is None or count < best.differing:
            best = Again(differing=count, named=named, tables=tables(given, around) if count else Tables(0, 0, ()))
        if not count:
            break
    if best is None:
        raise LevelfieldError("The page of this record cannot be made again.")
    return best


def _gates(run: Run) -> tuple[Gate | None, ...]:
    """Return what an `ab` run may have been asked: what was typed, or what its record alone says."""
    if pairs.LABEL not in run.labels:
        return (None,)
    plain = Gate(margin=run.settings.margin)
    for index, word in enumerate(run.command):
        name, _, value = word.partition("=")
        if name == "--max-slowdown":
            text = value or "".join(run.command[index + 1 : index + 2])
            try:
                return (msgspec.structs.replace(plain, max_slowdown=PERCENT.convert(text, None, None)), plain)
            except click.ClickException:
                return (plain,)
    return (plain,)


def same_inside(run: Run, given: Inside) -> bool:
    """Return whether the record inside a page is this one, thinned."""
    from suite.report.thinning import thin

    found = inside.tails(analysis.analyse(run))
    return thin(run, given.embedded.record_sha256, given.embedded.cap, found) == given.embedded
