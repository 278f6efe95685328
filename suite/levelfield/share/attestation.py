"""Check that a statement is of its run and the bills are of the run's images, and who signed."""

import hashlib
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from levelfield.record.schema import Image, elsewhere
from levelfield.report.units import plural
from levelfield.share import signing, statement
from levelfield.share.inputs import MAX_SBOM_BYTES, SBOM_NAME, Given, content_of

State: TypeAlias = Literal["holds", "broken", "open", "unverified"]


class Check(msgspec.Struct, frozen=True):
    """The result of one check."""

    topic: str
    state: State
    """`open`: what it needs is missing. `unverified`: this version cannot check it."""
    says: str
    named: tuple[str, ...] = ()
    """What exactly is wrong, one by one."""


def of_statement(given: Given) -> list[Check]:
    """Make the statement again from the record, and compare."""
    if given.statement is None:
        return [Check("statement", "open", "There is none: nothing binds record, images and inputs together.")]
    checks: list[Check] = []
    text, signature = given.page_statement
    if text and (text.encode(errors="replace"), signature) != (given.statement, given.signature):
        checks.append(Check("statement inside the page", "broken", "It or its signature is not the one beside it."))
    stated = statement.read(given.statement)
    if stated is None:
        return [*checks, Check("statement", "broken", "It is no statement of Levelfield.")]
    wrong = [name for name in stated.sboms if not SBOM_NAME.fullmatch(name)]
    if wrong:
        return [*checks, Check("statement", "broken", "It names files that no run writes.", tuple(wrong[:10]))]
    expected = statement.make(given.run, record_sha256=given.record_sha256, sboms=stated.sboms, part=stated.part_sha256)
    if expected == given.statement:
        says = "It is of exactly this record, these images and these inputs."
        return [*checks, Check("statement", "holds", says)]
    named = statement.differences(given.statement, expected)
    return [*checks, Check("statement", "broken", "It is not of this record.", named)]


def of_bills(given: Given) -> list[Check]:
    """Compare the bills of materials with the statement's digests, and with the images of the record."""
    stated = statement.read(given.statement) if given.statement is not None else None
    if stated is None or not stated.sboms:
        return []
    if given.folder is None:
        says = f"The page came alone; {plural(len(stated.sboms), 'bill')} of materials are in the run's folder."
        return [Check("bills of materials", "open", says)]
    wrong: list[str] = []
    absent: list[str] = []
    from levelfield.images import sbom

    own = given.run.settings.launcher
    names = (sbom.file_name(image.name, image.variant, elsewhere(image.launcher, own)) for image in given.run.images)
    images = {f"{sbom.FOLDER}/{name}": image for name, image in zip(names, given.run.images, strict=True)}
    for name, sha256 in stated.sboms.items():
        if not SBOM_NAME.fullmatch(name):
            continue  # said of the statement
        folder = given.folder / sbom.FOLDER
        content = content_of(given.folder / name, MAX_SBOM_BYTES) if not folder.is_symlink() else None
        if content is None:
            absent.append(name)
        elif hashlib.sha256(content).hexdigest() != sha256:
            wrong.append(f"{name} is not the file that the statement names{_bill_difference(content, name, images)}")
        elif name in images:
            wrong += [f"{name}: {each}" for each in sbom.contradictions(content, images[name])[:5]]
        else:
            wrong.append(f"{name} is of no image of this run")
    if wrong:
        return [Check("bills of materials", "broken", "They are not what they should be.", tuple(wrong[:20]))]
    if absent:
        return [Check("bills of materials", "open", f"{plural(len(absent), 'bill')} of materials are not here.")]
    says = f"All {len(stated.sboms)} are those that the statement names, and list what the record does."
    return [Check("bills of materials", "holds", says)]


def _bill_difference(content: bytes, name: str, images: dict[str, Image]) -> str:
    """Return what differs in a changed bill, where that is known."""
    from levelfield.images import sbom

    if name not in images:
        return ""
    named = sbom.contradictions(content, images[name])
    return f" ({'; '.join(named[:3])})" if named else ""


def of_signature(given: Given, signers: Path | None) -> tuple[str, Check]:
    """Check the signature of a statement.

    `signers`: a file of allowed signers; None: no signer is known. Returns name of the signer by that file; empty where
    it names none with this key. Raises LevelfieldError: ssh-keygen is missing, or the file of signers is.
    """
    if given.statement is None or not given.signature:
        return "", Check(
            "signature",
            "open",
            "It is not signed: with a changed sample, everything else could have been made anew to fit.",
        )
    found = signing.check(given.statement, given.signature, signers)
    if not found.good:
        return "", Check("signature", "broken", "The signature is not of this statement.")
    if found.signer:
        return found.signer, Check("signature", "holds", f"By {found.signer}, with the key {found.key}.")
    if signers is None:
        says = f"It is by the key {found.key}; name the signers that you know with --signers to learn whose that is."
    else:
        says = f"It is by the key {found.key}, which {signers} does not list."
    return "", Check("signature", "open", says)
