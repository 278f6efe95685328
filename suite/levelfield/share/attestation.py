"""Read what is to be verified, and check its statement, the bills of its images, and who signed.

A page alone, the folder of a run or a record as JSON is read; no link is followed.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from levelfield import untrusted
from levelfield.analysis import Analysis, analyse, guarded
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record import page as pages
from levelfield.record.page import Evidence
from levelfield.record.schema import Run, elsewhere
from levelfield.report.units import plural
from levelfield.share import statement

State: TypeAlias = Literal["holds", "broken", "open", "unverified"]
MAX_SBOM_BYTES = 32 * 1024 * 1024
SBOM_NAME = re.compile(r"sbom/[A-Za-z0-9_@+][A-Za-z0-9@._+-]{0,200}\.cdx\.json")
"""What a statement may call a bill of materials: a file of that folder, and nothing else."""
_FIX = "Name a report's HTML file or a run's folder, such as reports/RUN."


class Given(msgspec.Struct, frozen=True, dict=True):
    """What is to be verified, decoded."""

    name: str
    run: Run
    content: bytes
    """JSON of the record."""
    page: bytes | None = None
    block: str = ""
    """The record's block of the page, as it is there."""
    page_statement: tuple[str, str] = ("", "")
    """Statement and signature inside the page."""
    statement: bytes | None = None
    """The statement beside the record, or else that of the page."""
    signature: str = ""
    folder: Path | None = None
    """Where bills of materials may lie; None: the page came alone."""

    @cached_property
    def record_sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def analysis(self) -> Analysis:
        """What follows from the record. Raises LevelfieldError: it holds values that no measurement gives."""
        with guarded.computing(self.name):
            return analyse(self.run)


def read(path: Path) -> Given:
    """Read and decode what was given, within bounds; of a folder with both, the record is that of `run.json`.

    Raises LevelfieldError: nothing of the kind is there, it is too long or no record; with exit code 1 where it was one
    and was damaged.
    """
    if os.path.isdir(path):  # noqa: PTH112  (it may not be looked at)
        page, record = (content_of(path / name, pages.MAX_BYTES) for name in (pages.NAME, files.NAME))
        if page is None and record is None and (page := content_of(path / "index.html", pages.MAX_BYTES)) is None:
            raise LevelfieldError(f"{path} holds no {pages.NAME}.", fix=_FIX)
        return decode(str(path), page=page, record=record, folder=path)
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
        raise LevelfieldError(f"{path} cannot be read: {said}.", fix=_FIX) from error
    content = content_of(real, pages.MAX_BYTES)
    if content is not None and pages.is_page(content):
        return decode(str(path), page=content)
    if content is not None and content[:200].lstrip().startswith(b"{"):
        return decode(str(path), record=content, folder=real.parent)
    raise LevelfieldError(f"{path} is neither a report's page nor a record.", fix=_FIX)


def decode(name: str, *, page: bytes | None = None, record: bytes | None = None, folder: Path | None = None) -> Given:
    """Decode a page, a record, or both; statement and signature are those of the folder, or else of the page."""
    block, inside = pages.split(page) if page is not None else ("", ("", ""))
    stated = content_of(folder / statement.NAME, statement.MAX_BYTES) if folder is not None else None
    signature = inside[1]
    if folder is not None and stated is not None:
        signature = (content_of(folder / statement.SIGNATURE, statement.MAX_SIGNATURE_BYTES) or b"").decode(
            "ascii", "replace"
        )
    content = record if record is not None else pages.unpack(block)
    return Given(
        name=name,
        run=guarded.decode(content, name),
        content=content,
        page=page,
        block=block,
        page_statement=inside,
        statement=stated if stated is not None else inside[0].encode(errors="replace") or None,
        signature=signature,
        folder=folder,
    )


def content_of(file: Path, most_bytes: int) -> bytes | None:
    """Return the bytes of a plain file, or None where there is none; links are not followed, and a pipe is no wait.

    Raises LevelfieldError: it is something else than a plain file, too long, or cannot be read.
    """
    try:
        return untrusted.read_plain(file, most_bytes, follow_links=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except untrusted.TooLargeError as error:
        raise LevelfieldError(
            f"{file} is longer than {most_bytes} bytes, the most that such a file may have.", fix=files.DAMAGED
        ) from error
    except OSError as error:
        raise LevelfieldError(f"{file} cannot be read: {error.strerror or error}.", fix=_FIX) from error


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
    expected = statement.make(given.run, record_sha256=given.record_sha256, sboms=stated.sboms)
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
            wrong.append(f"{name} is not the file that the statement names")
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


def of_signature(given: Given, signers: Path | None) -> tuple[str, Check]:
    """Check the signature of a statement; return the name of the signer by a file of signers, empty for none.

    Raises LevelfieldError: ssh-keygen is missing.
    """
    if given.statement is None or not given.signature:
        return "", Check(
            "signature",
            "open",
            "It is not signed: with a changed sample, everything else could have been made anew to fit.",
        )
    found = statement.check_signature(given.statement, given.signature, signers)
    if not found.good:
        return "", Check("signature", "broken", "The signature is not of this statement.")
    if found.signer:
        return found.signer, Check("signature", "holds", f"By {found.signer}, with the key {found.key}.")
    if signers is None:
        says = f"It is by the key {found.key}; name the signers that you know with --signers to learn whose that is."
    else:
        says = f"It is by the key {found.key}, which {signers} does not list."
    return "", Check("signature", "open", says)


def signed_by(given: Evidence) -> str:
    """Return the key of a page's signature; empty: it has none that is of its statement."""
    if not given.signature:
        return ""
    return statement.check_signature(given.statement.encode(), given.signature, signers=None).key


def write_evidence(folder: Path, run: Run, content: bytes, key: Path | None = None) -> tuple[Evidence, str]:
    """Write the statement of a run that has just ended, and sign it where a key is given.

    `content`: the record's JSON. Returns what the page carries, and one sentence on what is missing, empty where
    nothing is. Nothing is raised: hours of measuring must not end in an error of what describes them.
    """
    carried = pages.pack(content)
    try:
        return sign_evidence(folder, run, carried, key)
    except LevelfieldError as error:
        return carried, f"This run has no statement: {error.message}"
    except Exception as error:  # noqa: BLE001
        return carried, f"This run has no statement: {error.__class__.__name__}: {error}."


def sign_evidence(folder: Path, run: Run, carried: Evidence, key: Path | None) -> tuple[Evidence, str]:
    """Write the statement and the bills of a run, and sign it where a key is given and signs."""
    sboms, missing = _bills(folder, run)
    text = statement.make(run, record_sha256=carried.sha256, sboms=sboms)
    signature = ""
    if key is not None:
        try:
            signature = statement.sign(text, key)
        except LevelfieldError as error:
            missing = (*missing, error.message)
    (folder / statement.SIGNATURE).unlink(missing_ok=True)  # of what the statement was before
    files.write_atomically(folder / statement.NAME, text)
    if signature:
        files.write_atomically(folder / statement.SIGNATURE, signature.encode())
    return _signed(carried, text, signature, missing)


@contextlib.contextmanager
def signing(folder: Path, run: Run, carried: Evidence, key: Path) -> Iterator[tuple[Evidence, str]]:
    """Yield what a page carries that is signed anew; statement and signature are there once it is written.

    Raises LevelfieldError: the key does not sign, the disk is full, or the folder holds the statement of another run;
    statement and signature are then as they were.
    """
    there = content_of(folder / statement.NAME, statement.MAX_BYTES)
    if there is not None and not _is_of(there, carried):
        raise LevelfieldError(
            f"{folder / statement.NAME} is of another run, and would be replaced.",
            fix="Copy the page into a folder of its own, and sign it there.",
        )
    sboms, missing = _bills(folder, run)
    text = statement.make(run, record_sha256=carried.sha256, sboms=sboms)
    signature = statement.sign(text, key)
    with contextlib.ExitStack() as written:
        for name, content in ((statement.NAME, text), (statement.SIGNATURE, signature.encode())):
            written.enter_context(files.writing(folder / name))
            file = written.enter_context(files.fresh_file(folder / name))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a disk that has no room for the page has none for these
        yield _signed(carried, text, signature, missing)


def _signed(carried: Evidence, text: bytes, signature: str, missing: Sequence[str]) -> tuple[Evidence, str]:
    incomplete = f"Its statement is not all it could be: {' '.join(missing)}" if missing else ""
    return msgspec.structs.replace(carried, statement=text.decode(), signature=signature), incomplete


def _is_of(stated: bytes, carried: Evidence) -> bool:
    """Return whether a statement is of this record: a page may lie in the folder of another run."""
    known = statement.read(stated)
    return known is not None and known.record_sha256 == carried.sha256


def _bills(folder: Path, run: Run) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write the bill of every image; return their digests by name, and why some are missing."""
    from levelfield.images import sbom  # a run has its record even where the CycloneDX library is not

    if (folder / sbom.FOLDER).is_symlink():
        raise LevelfieldError(f"{folder / sbom.FOLDER} is a link, and nothing is written through it.", fix="Remove it.")
    written: dict[str, str] = {}
    missing: list[str] = []
    for image in run.images:
        if image.unlocked:
            continue  # the report says so in its first lines
        try:
            content = sbom.of_record(image, run.bases)
        except LevelfieldError as error:
            missing.append(error.message)
            continue
        (folder / sbom.FOLDER).mkdir(exist_ok=True)
        name = sbom.file_name(image.name, image.variant, elsewhere(image.launcher, run.settings.launcher))
        files.write_atomically(folder / sbom.FOLDER / name, content)
        written[f"{sbom.FOLDER}/{name}"] = hashlib.sha256(content).hexdigest()
    return written, tuple(missing)


def evidence_of(record: Path, content: bytes) -> Evidence:
    """Return what the page of an earlier run carries: also its statement, where that is of this record."""
    carried = pages.pack(content)
    stated = content_of(record.parent / statement.NAME, statement.MAX_BYTES)
    if stated is not None and _is_of(stated, carried):
        signature = content_of(record.parent / statement.SIGNATURE, statement.MAX_SIGNATURE_BYTES) or b""
    else:
        file = content_of(record, pages.MAX_BYTES) or b""
        stated, signature = (part.encode() for part in pages.split(file)[1]) if pages.is_page(file) else (b"", b"")
    if not _is_of(stated, carried):
        return carried
    try:
        return msgspec.structs.replace(carried, statement=stated.decode(), signature=signature.decode("ascii"))
    except UnicodeDecodeError:
        return carried
