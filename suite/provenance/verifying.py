"""Whether a report holds: its digests, its statement, its signature, and every figure anew from the samples.

A signature says who stands for a report. Without one that a reader knows, whoever changed a sample can make everything
else fit again: such a report is *consistent, not authentic*. Whether what was signed was ever measured, nothing tells.
"""

import hashlib
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from suite import analysis
from suite.errors import LevelfieldError
from suite.provenance import bounds, rendering, signing, statement
from suite.provenance.given import MAX_SBOM_BYTES, SBOM_NAME, Given, content_of
from suite.provenance.page import Page, take_apart
from suite.records import files
from suite.records.schema import Image, Run
from suite.report import inside
from suite.report.inside import Evidence, Inside
from suite.report.units import plural

State: TypeAlias = Literal["holds", "broken", "open"]
Verdict: TypeAlias = Literal["verified", "consistent, not authentic", "does not hold"]
INCONCLUSIVE = 3


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    topic: str
    state: State
    """`open`: it could not be looked at, and why."""
    says: str
    named: tuple[str, ...] = ()
    """What exactly is wrong, one by one."""


class Verified(msgspec.Struct, frozen=True):
    """What came of it."""

    run: Run
    checks: tuple[Check, ...]
    verdict: Verdict
    signer: str = ""
    signers_asked: bool = False

    @property
    def exit_code(self) -> int:
        """0 nothing is wrong; 1 something is; 3 signers were named, and it is by none of them."""
        if self.verdict == "does not hold":
            return 1
        return INCONCLUSIVE if self.signers_asked and self.verdict != "verified" else 0


class _Read(msgspec.Struct, frozen=True):
    """What was given, decoded."""

    given: Given
    page: Page | None
    inside: Inside | None
    whole: Run | None
    """The record of `run.json`."""
    statement: bytes | None
    signature: str

    @property
    def run(self) -> Run:
        if self.whole is not None:
            return self.whole
        assert self.inside is not None  # nothing is read that holds neither
        return self.inside.embedded.record


def verify(given: Given, *, tool_sha256: str = "", signers: Path | None = None) -> Verified:
    """Check all that was given.

    Parameters
    ----------
    given
        As `suite.provenance.given.look` read it.
    tool_sha256
        Digest of this tool's own sources, as records hold it: where a page was made by others, that is said.
    signers
        A file of the signers that the reader knows.

    Raises
    ------
    LevelfieldError
        It is no report or cannot be read; with exit code 1 where it was one and was damaged.
    """
    read = _read(given)
    signed, signature = _signature(read, signers)
    checks = [
        *_records(read, tool_sha256),
        *_figures(read, tool_sha256),
        *_statement(read, tool_sha256),
        *_bills(read),
        signature,
    ]
    broken = any(check.state == "broken" for check in checks)
    covered = bool(signed) and read.statement is not None
    verdict: Verdict = "does not hold" if broken else "verified" if covered else "consistent, not authentic"
    return Verified(
        run=read.run,
        checks=tuple(checks),
        verdict=verdict,
        signer=signed,
        signers_asked=signers is not None,
    )


def _read(given: Given) -> _Read:
    page = take_apart(given.page) if given.page is not None else None
    carried = inside.unpack(page.record.encode()) if page is not None else None
    if carried is not None:
        bounds.check(carried.embedded.record, "The record inside the page")
    whole: Run | None = None
    if given.record is not None:
        whole = files.decode(given.record, files.NAME)
        files.check(whole, files.NAME)
        bounds.check(whole, files.NAME)
    text, signature = given.statement, _ascii(given.signature)
    if text is None and page is not None and page.statement is not None:
        told, signature = inside.attested(page.statement.encode())
        text = told.encode(errors="replace")
    return _Read(given=given, page=page, inside=carried, whole=whole, statement=text, signature=signature)


def _ascii(signature: bytes | None) -> str:
    return (signature or b"").decode("ascii", "replace")


# ---- the record ------------------------------------------------------------------------------------------------------


def _records(read: _Read, tool_sha256: str) -> list[Check]:
    checks = [_whole(read)] if read.whole is not None else []
    if read.inside is None:
        return checks
    embedded = read.inside.embedded
    if read.whole is not None:
        same = rendering.same_inside(read.whole, read.inside)
        says = "It is the record of run.json." if same else "It is not the record of run.json."
        return [*checks, Check("record inside the page", "holds" if same else "broken", says)]
    doubtful = tuple(inside.unsupported(embedded))
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


def _whole(read: _Read) -> Check:
    digest = hashlib.sha256(read.given.record or b"").hexdigest()
    if read.inside is not None and read.inside.embedded.record_sha256 != digest:
        says = f"run.json has the SHA-256 {digest}, and the page names {read.inside.embedded.record_sha256}."
        return Check("record", "broken", says)
    says = "run.json follows the schema" + ("." if read.inside is None else " and has the digest that the page names.")
    return Check("record", "holds", says)


# ---- the figures -----------------------------------------------------------------------------------------------------


def _figures(read: _Read, tool_sha256: str) -> list[Check]:
    if read.page is None or read.inside is None:
        return [Check("figures", "open", "There is no page here, so that there are no figures to compute again.")]
    try:
        carried = inside.attested(read.page.statement.encode()) if read.page.statement is not None else ("", "")
        evidence = Evidence(read.inside, *carried)
        if read.whole is not None:
            again = rendering.from_record(read.whole, evidence, read.page.around)
        else:
            again = rendering.from_inside(evidence, read.page.around)
    except (ArithmeticError, ValueError, LookupError, MemoryError) as error:
        raise LevelfieldError(
            f"The page of this record cannot be computed: {error.__class__.__name__}.", fix=files.DAMAGED
        ) from error
    if not again.differing:
        return [Check("figures", "holds", f"Every figure of the page follows from {_source(read)}.")]
    says = f"{plural(again.differing, 'part')} of the page {'does' if again.differing == 1 else 'do'} not follow from "
    says += f"{_source(read)}."
    if read.run.tool_sha256 != tool_sha256:
        says += (
            f" The run was made by levelfield {read.run.tool_version} ({read.run.tool_sha256[:12]}), this is another "
            "one: take that version to tell a changed page from one that was only written differently."
        )
    return [Check("figures", "broken", says, tuple(map(str, again.named)))]


def _source(read: _Read) -> str:
    if read.whole is not None:
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


# ---- the statement ---------------------------------------------------------------------------------------------------


def _statement(read: _Read, tool_sha256: str) -> list[Check]:
    if read.statement is None:
        return [Check("statement", "open", "There is none: nothing binds record, images and inputs together.")]
    checks: list[Check] = []
    if read.page is not None and read.page.statement is not None and read.given.statement is not None:
        text, signature = inside.attested(read.page.statement.encode())
        if text.encode(errors="replace") != read.statement or signature != read.signature:
            checks.append(Check("statement inside the page", "broken", "It or its signature is not the one beside it."))
    told = statement.read(read.statement)
    if told is None:
        return [*checks, Check("statement", "broken", "It is no statement of Levelfield.")]
    wrong = [name for name in told.sboms if not SBOM_NAME.fullmatch(name)]
    if wrong:
        return [*checks, Check("statement", "broken", "It names files that no run writes.", tuple(wrong[:10]))]
    record = hashlib.sha256(read.given.record).hexdigest() if read.given.record is not None else None
    expected = statement.make(
        read.run,
        record_sha256=record or (read.inside.embedded.record_sha256 if read.inside is not None else ""),
        inside_sha256=_inside_sha256(read, tool_sha256) or told.inside_sha256,
        sboms=told.sboms,
    )
    if expected == read.statement:
        says = "It is of exactly this record, these images and these inputs."
        return [*checks, Check("statement", "holds", says)]
    named = statement.differences(read.statement, expected)
    return [*checks, Check("statement", "broken", "It is not of this record.", named)]


def _inside_sha256(read: _Read, tool_sha256: str) -> str:
    """Return the digest of the record inside the page; without a page, that of what this version puts into one."""
    if read.inside is not None:
        return read.inside.sha256
    if read.run.tool_sha256 != tool_sha256:  # another version may choose other samples
        return ""
    digest = hashlib.sha256(read.given.record or b"").hexdigest()
    return inside.carry(read.run, analysis.analyse(read.run), digest).sha256


def _bills(read: _Read) -> list[Check]:
    told = statement.read(read.statement) if read.statement is not None else None
    if told is None or not told.sboms:
        return []
    if read.given.folder is None:
        says = f"The page came alone; {plural(len(told.sboms), 'bill')} of materials are in the run's folder."
        return [Check("bills of materials", "open", says)]
    wrong: list[str] = []
    absent: list[str] = []
    from suite.provenance import sbom

    images = {f"{sbom.FOLDER}/{sbom.file_name(image.name, image.variant)}": image for image in read.run.images}
    for name, sha256 in told.sboms.items():
        if not SBOM_NAME.fullmatch(name):
            continue  # said of the statement
        folder = read.given.folder / sbom.FOLDER
        content = content_of(read.given.folder / name, MAX_SBOM_BYTES) if not folder.is_symlink() else None
        if content is None:
            absent.append(name)
        elif hashlib.sha256(content).hexdigest() != sha256:
            wrong.append(f"{name} is not the file that the statement names{_told_apart(content, name, images)}")
        elif name in images:
            wrong += [f"{name}: {each}" for each in sbom.contradictions(content, images[name])[:5]]
        else:
            wrong.append(f"{name} is of no image of this run")
    if wrong:
        return [Check("bills of materials", "broken", "They are not what they should be.", tuple(wrong[:20]))]
    if absent:
        return [Check("bills of materials", "open", f"{plural(len(absent), 'bill')} of materials are not here.")]
    says = f"All {len(told.sboms)} are those that the statement names, and list what the record does."
    return [Check("bills of materials", "holds", says)]


def _told_apart(content: bytes, name: str, images: dict[str, Image]) -> str:
    """Say what a changed bill says now, where that can be told."""
    from suite.provenance import sbom

    if name not in images:
        return ""
    named = sbom.contradictions(content, images[name])
    if not named:
        try:
            made = sbom.of_record(images[name])
        except LevelfieldError:
            return ""
        named = sbom.first_difference(content, made)
    return f" ({'; '.join(named[:3])})" if named else ""


def _signature(read: _Read, signers: Path | None) -> tuple[str, Check]:
    if read.statement is None or not read.signature:
        return "", Check("signature", "open", "Nobody signed: whoever changed a sample could have made all else fit.")
    found = signing.check(read.statement, read.signature, signers)
    if not found.good:
        return "", Check("signature", "broken", "The signature is not of this statement.")
    if found.signer:
        return found.signer, Check("signature", "holds", f"By {found.signer}, with the key {found.key}.")
    if signers is None:
        says = f"It is by the key {found.key}; name the signers that you know with --signers to learn whose that is."
    else:
        says = f"It is by the key {found.key}, which is nobody's whom {signers} names."
    return "", Check("signature", "open", says)
