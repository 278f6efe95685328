"""Verify a report: its digests, its statement, its signature, and every figure, computed again from the samples.

A signature names who published a report. Without one by a signer that the reader knows, a report with a changed sample
and everything else computed again passes all checks: it is *consistent, but unsigned*, or *consistent, but signer
unknown*. No check proves that what was signed was ever measured.
"""

import hashlib
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis import guarded
from levelfield.record.schema import Run
from levelfield.report import embedded_record
from levelfield.report.embedded_record import Evidence
from levelfield.report.units import plural
from levelfield.share import attestation, rendering
from levelfield.share.active_content import unknown_content
from levelfield.share.inputs import VerificationInput
from levelfield.share.reading import Check, Read, read

Verdict: TypeAlias = Literal[
    "verified",
    "consistent, but unsigned",
    "consistent, but signer unknown",
    "not verified",
    "verification failed",
]
INCONCLUSIVE = 3


class Verified(msgspec.Struct, frozen=True):
    """Result of a verification."""

    run: Run
    checks: tuple[Check, ...]
    verdict: Verdict
    signer: str = ""
    signers_given: bool = False

    @property
    def exit_code(self) -> int:
        """0 nothing is wrong; 1 something is; 3 it is undecided, or signers were named and it is by none of them."""
        if self.verdict == "verification failed":
            return 1
        unknown = self.verdict == "not verified" or (self.signers_given and self.verdict != "verified")
        return INCONCLUSIVE if unknown else 0


def verify(inputs: VerificationInput, *, tool_sha256: str = "", signers: Path | None = None) -> Verified:
    """Check all that was given.

    `inputs`: as `share.inputs.open_input` read it. Raises LevelfieldError: it is no report or cannot be read; with exit
    code 1 where it was one and was damaged.
    """
    found = read(inputs)
    signed, signature = attestation.of_signature(found, signers)
    with guarded.computing(inputs.name):
        checks = [
            *_records(found, tool_sha256),
            *_figures(found, tool_sha256),
            *attestation.of_statement(found, tool_sha256),
            *attestation.of_bills(found),
            signature,
        ]
    broken = any(check.state == "broken" for check in checks)
    figures_hold = found.page is None or all(check.state == "holds" for check in checks if check.topic == "figures")
    covered = bool(signed) and found.statement is not None and figures_hold
    verdict: Verdict = "consistent, but signer unknown" if found.signature else "consistent, but unsigned"
    if broken:
        verdict = "verification failed"
    elif any(check.state == "unverified" for check in checks):
        verdict = "not verified"
    elif covered:
        verdict = "verified"
    return Verified(
        run=found.run,
        checks=tuple(checks),
        verdict=verdict,
        signer=signed,
        signers_given=signers is not None,
    )


# ---- the record ------------------------------------------------------------------------------------------------------


def _records(read: Read, tool_sha256: str) -> list[Check]:
    checks = [_check_record(read)] if read.full_record is not None else []
    if read.inside is None:
        return checks
    embedded = read.inside.embedded
    if read.full_record is not None:
        same = rendering.same_inside(read.full_record, read.inside)
        says = "It is the record of run.json." if same else "It is not the record of run.json."
        return [*checks, Check("record inside the page", "holds" if same else "broken", says)]
    doubtful = tuple(embedded_record.unsupported(embedded))
    if doubtful:
        return [Check("record inside the page", "broken", "Samples inside cannot be of the windows stated.", doubtful)]
    if embedded.thinned:
        says = "It follows the schema and agrees with its digests; the whole record is not here."
        return [Check("record inside the page", "holds", says)]
    digest = hashlib.sha256(msgspec.json.encode(embedded.record) + b"\n").hexdigest()
    if digest == embedded.record_sha256:
        return [Check("record inside the page", "holds", "It is the whole record, and has the digest that is named.")]
    if embedded.record.tool_sha256 == tool_sha256:
        return [Check("record inside the page", "broken", "It is whole, and not the record that the page names.")]
    says = "Another version of Levelfield wrote it, so that the digest of its file cannot be made again."
    return [Check("record inside the page", "open", says)]


def _check_record(read: Read) -> Check:
    if read.inside is not None and read.inside.embedded.record_sha256 != read.record_sha256:
        says = (
            f"run.json has the SHA-256 {read.record_sha256}, and the page names {read.inside.embedded.record_sha256}."
        )
        return Check("record", "broken", says)
    says = "run.json follows the schema" + ("." if read.inside is None else " and has the digest that the page names.")
    return Check("record", "holds", says)


# ---- the figures -----------------------------------------------------------------------------------------------------


def _figures(read: Read, tool_sha256: str) -> list[Check]:
    if read.page is None or read.inside is None:
        return [Check("figures", "open", "There is no page here, so that there are no figures to compute again.")]
    evidence = Evidence(read.inside, *(read.page_statement or ("", "")))
    if read.full_record is not None:
        again = rendering.from_record(read.full_record, evidence, read.page.around)
    else:
        again = rendering.from_inside(evidence, read.page.around)
    if not again.differing:
        return [Check("figures", "holds", f"Every figure of the page follows from {_source(read)}.")]
    if read.run.tool_sha256 != tool_sha256:
        return [_by_another_version(again, read)]
    return [Check("figures", "broken", _not_following(again, read), tuple(map(str, again.named)))]


def _not_following(again: rendering.RenderedPage, read: Read) -> str:
    do = "does" if again.differing == 1 else "do"
    return f"{plural(again.differing, 'part')} of the page {do} not follow from {_source(read)}."


def _by_another_version(again: rendering.RenderedPage, read: Read) -> Check:
    """Judge a page that another version may have written: rightly, its words and drawings may differ.

    The version is read from the record, which is not trusted either. So such a page is never called consistent: it is
    *broken* where it could act on its reader, and otherwise *unverified*; what differs is named.
    """
    assert read.page is not None  # it differs from the page made again
    active = unknown_content(read.page.around)
    if active:
        says = "The page holds what no version of Levelfield that is known here writes. If a newer version wrote it, "
        return Check("figures", "broken", f"{says}verify it with that version.", active)
    found = again.tables
    version = f"levelfield {read.run.tool_version} ({read.run.tool_sha256[:12]})"
    if found.differing or found.unmatched > found.same or not found.same:
        says = (
            f"{_not_following(again, read)} The run was made by {version}, this is another one, which may compute or "
        )
        says += "write figures by other rules: take that version to tell a changed page from an older one."
        return Check("figures", "unverified", says, tuple(map(str, found.differing or again.named)))
    says = f"The page was written by {version}, and this is another one: its words and drawings are not compared. "
    says += f"{found.same:,} figures in its tables follow from {_source(read)}"
    says += f"; {found.unmatched:,} stand where this version has none." if found.unmatched else "."
    return Check("figures", "unverified", f"{says} Take that version to check every word.")


def _source(read: Read) -> str:
    if read.full_record is not None:
        return "all samples, which are in run.json"
    assert read.inside is not None
    thinned = read.inside.embedded.thinned
    if not thinned:
        return "all samples, which are inside the page"
    kept, of = sum(each.kept for each in thinned), sum(each.of for each in thinned)
    return (
        f"the samples inside the page; of {plural(len(thinned), 'result')} they are {kept:,} of {of:,}, whose windows' "
        "medians and upper quantiles are taken from beside them (the run's folder has all)"
    )
