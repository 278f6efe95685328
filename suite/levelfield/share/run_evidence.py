"""The end of a run: its statement and its bills of materials are written beside the page, whatever else happens."""

import hashlib
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.record import files, page
from levelfield.record.page import Evidence
from levelfield.record.schema import Run, elsewhere
from levelfield.share import statement
from levelfield.share.attestation import content_of


def write_evidence(folder: Path, run: Run, content: bytes, key: Path | None = None) -> tuple[Evidence, str]:
    """Write the statement of a run that has just ended, and sign it where a key is given.

    `content`: the record's JSON. Returns what the page carries, and one sentence on what is missing, empty where
    nothing is. Nothing is raised: hours of measuring must not end in an error of what describes them.
    """
    carried = page.pack(content)
    try:
        return sign_evidence(folder, run, carried, key)
    except LevelfieldError as error:
        return carried, f"This run has no statement: {error.message}"
    except Exception as error:  # noqa: BLE001
        return carried, f"This run has no statement: {error.__class__.__name__}: {error}."


def sign_evidence(
    folder: Path, run: Run, carried: Evidence, key: Path | None, *, must_sign: bool = False
) -> tuple[Evidence, str]:
    """Write the statement and the bills of a run, and sign it where a key is given.

    Raises LevelfieldError: with `must_sign`, the key does not sign; statement and signature are then as they were.
    """
    sboms, missing = _bills(folder, run)
    text = statement.make(run, record_sha256=carried.sha256, sboms=sboms)
    signature = ""
    if key is not None:
        try:
            signature = statement.sign(text, key)
        except LevelfieldError as error:
            if must_sign:  # nothing was changed yet
                raise
            missing = (*missing, error.message)
    (folder / statement.SIGNATURE).unlink(missing_ok=True)  # of what the statement was before
    files.write_atomically(folder / statement.NAME, text)
    if signature:
        files.write_atomically(folder / statement.SIGNATURE, signature.encode())
    incomplete = f"Its statement is not all it could be: {' '.join(missing)}" if missing else ""
    return msgspec.structs.replace(carried, statement=text.decode(), signature=signature), incomplete


def _bills(folder: Path, run: Run) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write the bill of every image; return their digests by name, and why some are missing."""
    from levelfield.images import sbom  # a run has its record even where the CycloneDX library is not

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
    """Return what the page of an earlier run carries: also its statement, where that is of this record.

    `record`: the record's file; the statement is the one beside it, or else the one inside it. `content`: its JSON.
    """
    carried = page.pack(content)
    stated = content_of(record.parent / statement.NAME, statement.MAX_BYTES)
    if stated is not None:
        signature = content_of(record.parent / statement.SIGNATURE, statement.MAX_SIGNATURE_BYTES) or b""
    else:
        file = content_of(record, page.MAX_BYTES) or b""
        stated, signature = (part.encode() for part in page.split(file)[1]) if page.is_page(file) else (b"", b"")
    known = statement.read(stated)
    if known is None or known.record_sha256 != carried.sha256:
        return carried
    try:
        return msgspec.structs.replace(carried, statement=stated.decode(), signature=signature.decode("ascii"))
    except UnicodeDecodeError:
        return carried
