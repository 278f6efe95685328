"""The end of a run: its statement and its bills of materials are written beside the record, whatever else happens."""

import hashlib
from pathlib import Path

from levelfield.analysis import Analysis
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run, elsewhere
from levelfield.report import embedded_record
from levelfield.report.embedded_record import Evidence
from levelfield.share import signing, statement
from levelfield.share.inputs import content_of


def write_evidence(folder: Path, run: Run, result: Analysis, key: Path | None = None) -> tuple[Evidence | None, str]:
    """Write the statement of a run that has just ended, and sign it where a key is given.

    `key`: file of a key to sign with; None: the statement is not signed. Returns what the page carries; None: only the
    record. Returns one sentence on what is missing, empty where nothing is. Nothing is raised: the record and the
    report are not affected.
    """
    try:
        return _write(folder, run, result, key)
    except LevelfieldError as error:
        return None, f"This run has no statement: {error.message}"
    except Exception as error:  # noqa: BLE001  (hours of measuring must not end in an error of what describes them)
        return None, f"This run has no statement: {error.__class__.__name__}: {error}."


def _write(
    folder: Path, run: Run, result: Analysis, key: Path | None, *, must_sign: bool = False
) -> tuple[Evidence, str]:
    record_sha256 = hashlib.sha256((folder / files.NAME).read_bytes()).hexdigest()
    carried = embedded_record.carry(run, result, record_sha256)
    sboms, missing = _bills(folder, run)
    text = statement.make(run, record_sha256=record_sha256, inside_sha256=carried.sha256, sboms=sboms)
    signature = ""
    if key is not None:
        try:
            signature = signing.sign(text, key)
        except LevelfieldError as error:
            if must_sign:  # nothing was changed yet
                raise
            missing = (*missing, error.message)
    (folder / statement.SIGNATURE).unlink(missing_ok=True)  # of what the statement was before
    files.write_atomically(folder / statement.NAME, text)
    if signature:
        files.write_atomically(folder / statement.SIGNATURE, signature.encode())
    incomplete = f"Its statement is not all it could be: {' '.join(missing)}" if missing else ""
    return Evidence(inside=carried, statement=text.decode(), signature=signature), incomplete


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


def read_evidence(record: Path, run: Run, result: Analysis, key: Path | None = None) -> tuple[Evidence, str]:
    """Return what the page of an earlier run carries; with a key, its statement is made and signed again.

    Another version may put less of the record into the page. A statement of this record that names what an earlier
    page held is made again where it is not signed; a signed one is left as it is, since only its signer can.

    `key`: file of a key to sign with; None: it is not signed. Returns one sentence on what is missing, empty where
    nothing is. Raises LevelfieldError: the key does not sign; statement and signature are then as they were.
    """
    if key is None:
        found = evidence_of(record, run, result)
        if found.statement or not _states(record):
            return found, ""
        if (record.parent / statement.SIGNATURE).exists():
            return found, (
                "Its signed statement is of a page that another version wrote, and not of this one: sign it again with "
                "--sign, or take that version."
            )
    return _write(record.parent, run, result, key, must_sign=True)


def _states(record: Path) -> bool:
    """Return whether a statement lies beside a record that is of exactly this file."""
    stated = statement.read(content_of(record.parent / statement.NAME, statement.MAX_BYTES) or b"")
    return stated is not None and stated.record_sha256 == hashlib.sha256(files.content_of(record)).hexdigest()


def evidence_of(record: Path, run: Run, result: Analysis) -> Evidence:
    """Return what the page of an earlier run carries: also its statement, where that is still of this record."""
    record_sha256 = hashlib.sha256(files.content_of(record)).hexdigest()
    carried = embedded_record.carry(run, result, record_sha256)
    content = content_of(record.parent / statement.NAME, statement.MAX_BYTES)
    stated = statement.read(content or b"")
    if stated is None or (stated.record_sha256, stated.inside_sha256) != (record_sha256, carried.sha256):
        return Evidence(inside=carried)
    signature = content_of(record.parent / statement.SIGNATURE, signing.MAX_BYTES) or b""
    try:
        return Evidence(inside=carried, statement=(content or b"").decode(), signature=signature.decode("ascii"))
    except UnicodeDecodeError:
        return Evidence(inside=carried)
