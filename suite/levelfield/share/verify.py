"""Verify a report: its record, its statement and signature, and its page, which is rendered again and compared.

A signature names who published a report. Without one by a signer that the reader knows, a report with a changed sample
and everything else computed again passes all checks: it is *consistent, but unsigned*, or *consistent, but signer
unknown*. No check proves that what was signed was ever measured.
"""

import itertools
import os
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis import Analysis, guarded
from levelfield.analysis.status import AB
from levelfield.compare import ab as pairs
from levelfield.compare import contradictions
from levelfield.compare.formats.html import within
from levelfield.errors import LevelfieldError, shortened
from levelfield.paths import tool_sha256
from levelfield.record import page as pages
from levelfield.record.page import Evidence
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.share import attestation
from levelfield.share.attestation import Check, Given

Verdict: TypeAlias = Literal[
    "verified", "consistent, but unsigned", "consistent, but signer unknown", "not verified", "verification failed"
]
NOT_DECIDED = 3
MOST_NAMED = 20


class Verified(msgspec.Struct, frozen=True):
    """Result of a verification."""

    run: Run
    checks: tuple[Check, ...]
    verdict: Verdict
    """Of all that was given."""
    record_verdict: Verdict
    """Of the record and its statement, whatever the page shows."""
    signer: str = ""
    signers_given: bool = False

    @property
    def exit_code(self) -> int:
        """0 nothing is wrong; 1 something is; 3 it is undecided, or signers were named and it is by none of them."""
        if self.verdict == "verification failed":
            return 1
        unknown = self.verdict == "not verified" or (self.signers_given and self.verdict != "verified")
        return NOT_DECIDED if unknown else 0


def verify(given: Given, *, signers: Path | None = None) -> Verified:
    """Check all that was given (`share.attestation.read`).

    Raises LevelfieldError: the record cannot be computed with, or ssh-keygen or the file of signers is missing.
    """
    signer, signature = attestation.of_signature(given, signers)
    with guarded.computing(given.name):
        record = _record(given)
        page = _page(given, record)
        of_record = [
            record,
            _agreement(given.run),
            *attestation.of_statement(given),
            *attestation.of_bills(given),
            signature,
        ]
    verdict: Verdict = "consistent, but unsigned"
    if any(check.state == "broken" for check in of_record):
        verdict = "verification failed"
    elif signer:
        verdict = "verified"
    elif given.signature:
        verdict = "consistent, but signer unknown"
    overall: dict[str, Verdict] = {"broken": "verification failed", "unverified": "not verified"}
    return Verified(
        run=given.run,
        checks=(page, *of_record),
        verdict=verdict if verdict == "verification failed" else overall.get(page.state, verdict),
        record_verdict=verdict,
        signer=signer,
        signers_given=signers is not None,
    )


def _record(given: Given) -> Check:
    if given.page is None:
        return Check("record", "holds", "It follows the schema.")
    try:
        same = pages.unpack(given.block) == given.content
    except LevelfieldError as error:  # beside a run.json: the page of an earlier version, or a damaged one
        if error.exit_code == pages.DAMAGED:
            return Check("record", "broken", error.message)
        return Check("record", "open", f"run.json follows the schema; the page's own is not read: {error.message}")
    if not same:
        return Check("record", "broken", "run.json is not the record inside the page.")
    return Check("record", "holds", "It follows the schema, and has the digest that the page names.")


def _agreement(run: Run) -> Check:
    against = tuple(itertools.islice(contradictions.of(run), MOST_NAMED))
    if against:
        return Check("agreement", "broken", "The record contradicts itself.", against)
    return Check("agreement", "holds", "What the record concludes follows from what it holds.")


def _page(given: Given, record: Check) -> Check:
    """Compare a page with what this version renders, byte for byte: nothing that a browser could run is added to it.

    The record's block is taken as it is, since builds of zlib differ: it is known to hold this record.
    """
    if given.page is None:
        beside = given.folder is not None and os.path.lexists(given.folder / pages.NAME)
        says = "The page beside the record was not looked at: give the folder, and both are." if beside else ""
        return Check("page", "open", says or "There is no page here.")
    if record.state != "holds":
        return Check("page", "unverified", f"It does not hold this record, so that it is not compared. {_ANEW}")
    evidence = Evidence(given.block, given.record_sha256, *given.page_statement)
    text, rendered = given.page.decode(), _rendered(given.run, given.analysis, evidence)
    if rendered == text:
        return Check("page", "holds", "Rendered again from the record, it is the same, byte for byte.")
    place = (_first_difference(text, rendered),)
    if pages.written_by(given.block) == tool_sha256():
        return Check("page", "broken", "It is not the page that follows from its record.", place)
    says = f"Another version wrote it, or it was changed: this version renders the record otherwise. {_ANEW}"
    return Check("page", "unverified", says, place)


_ANEW = (
    "Do not rely on what it shows, nor open it if you do not trust its source: --page FILE writes the page that "
    "follows from the record."
)


def render(given: Given) -> str:
    """Return the page that this version writes of a record, with the statement that came with it."""
    stated = (given.statement or b"").decode(errors="replace")
    evidence = msgspec.structs.replace(pages.pack(given.content), statement=stated, signature=given.signature)
    with guarded.computing(given.name):
        return _rendered(given.run, given.analysis, evidence)


def _rendered(run: Run, found: Analysis, evidence: Evidence) -> str:
    compares = AB in run.labels
    comparison = within(pairs.compare_arms(run, pairs.gate_of(run), evidence.sha256)) if compares else None
    return html.render(run, found, comparison=comparison, evidence=evidence)


def _first_difference(given: str, computed: str) -> str:
    theirs, ours = given.splitlines(), computed.splitlines()
    same = next((line for line, pair in enumerate(zip(theirs, ours, strict=False)) if pair[0] != pair[1]), None)
    if same is None:
        return "one of the two is longer"
    first = max(0, [*map(str.__eq__, theirs[same], ours[same]), False].index(False) - 40)
    has, gives = ("…" * (first > 0) + shortened(line[first:], 100) for line in (theirs[same], ours[same]))
    return f"line {same + 1}: the page has “{has}”, and its record gives “{gives}”"
