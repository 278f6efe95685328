"""Render the page of a record again, every figure from the samples, and compare it with the given one."""

import msgspec

from levelfield import analysis
from levelfield.analysis import Analysis
from levelfield.compare import ab as pairs
from levelfield.compare.formats.html import within
from levelfield.compare.types import Gate
from levelfield.options.values import parse_share
from levelfield.record.schema import Run
from levelfield.report import embedded_record, html
from levelfield.report.embedded_record import Evidence, PageRecord
from levelfield.report.thinning import thin
from levelfield.share.page import Difference, Tables, differences, parse_page, tables


class RenderedPage(msgspec.Struct, frozen=True):
    """A page made again, compared with the one that was given."""

    differing: int
    named: tuple[Difference, ...]
    tables: Tables
    """Compared only where parts differ, for pages of other versions."""


def from_record(run: Run, evidence: Evidence, given: str) -> RenderedPage:
    """Render the page of a whole record, and compare."""
    return _compare(run, analysis.analyse(run), evidence, given)


def from_inside(evidence: Evidence, given: str) -> RenderedPage:
    """Render the page of the record that travels inside it, and compare.

    Medians of windows that were thinned are those that travel beside them, and so are their results' upper quantiles.
    """
    embedded = evidence.inside.embedded
    run = embedded_record.restored(embedded)
    found = embedded_record.with_tails(analysis.analyse(run), embedded)
    return _compare(run, found, evidence, given)


def _compare(run: Run, found: Analysis, evidence: Evidence, given: str) -> RenderedPage:
    rendered = []
    for gate in _gates(run):
        comparison = None
        if gate is not None:
            comparison = within(pairs.compare_arms(run, gate, evidence.inside.embedded.record_sha256))
        page = html.render(run, found, comparison=comparison, evidence=evidence)
        around = parse_page(page).around
        count, named = differences(given, around)
        rendered.append(RenderedPage(count, named, tables(given, around) if count else Tables(0, 0, ())))
        if not count:
            break
    return min(rendered, key=lambda each: each.differing)


def _gates(run: Run) -> tuple[Gate | None, ...]:
    """Return the gates that the page of an `ab` run may be made with: as typed, or as its record alone says."""
    if pairs.LABEL not in run.labels:
        return (None,)
    plain = Gate(margin=run.settings.margin)
    for index, word in enumerate(run.command):
        name, _, value = word.partition("=")
        if name == "--max-slowdown":
            text = value or "".join(run.command[index + 1 : index + 2])
            share = parse_share(text)
            return (plain,) if share is None else (msgspec.structs.replace(plain, max_slowdown=share), plain)
    return (plain,)


def same_inside(run: Run, given: PageRecord) -> bool:
    """Return whether the record inside a page is this one, thinned."""
    tails, held = embedded_record.tails(analysis.analyse(run)), given.embedded
    return thin(run, held.record_sha256, held.cap, tails, projections_once=held.projections_once) == held
