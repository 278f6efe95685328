"""Decode the files to verify: the page and the record inside it, the record beside it, statement and signature."""

import hashlib
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis import guarded
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.report import embedded_record
from levelfield.report.embedded_record import PageRecord
from levelfield.share.inputs import VerificationInput
from levelfield.share.page import Page, parse_page

State: TypeAlias = Literal["holds", "broken", "open", "unverified"]


class Check(msgspec.Struct, frozen=True):
    """The result of one check."""

    topic: str
    state: State
    """`open`: what it needs is missing. `unverified`: this version cannot check it."""
    says: str
    named: tuple[str, ...] = ()
    """What exactly is wrong, one by one."""


class Read(msgspec.Struct, frozen=True):
    """The files to verify, decoded."""

    inputs: VerificationInput
    page: Page | None
    inside: PageRecord | None
    full_record: Run | None
    """The record of `run.json`."""
    record_sha256: str
    """Digest of `run.json`; empty where it is not there."""
    page_statement: tuple[str, str] | None
    """Statement and signature inside the page; None: it carries none."""
    statement: bytes | None
    """The statement beside the record, or else that of the page."""
    signature: str

    @property
    def run(self) -> Run:
        if self.full_record is not None:
            return self.full_record
        assert self.inside is not None  # `open_input` refuses what holds neither
        return self.inside.embedded.record


def read(inputs: VerificationInput) -> Read:
    """Decode what was given, within bounds.

    Raises LevelfieldError: it is no report; with exit code 1 where it was one and was damaged.
    """
    page = parse_page(inputs.page) if inputs.page is not None else None
    inside = embedded_record.unpack(page.record.encode()) if page is not None else None
    record = inputs.record
    full_record = guarded.decode(record, files.NAME) if record is not None else None
    page_statement = None
    if page is not None and page.statement is not None:
        page_statement = embedded_record.attested(page.statement.encode())
    statement, signature = inputs.statement, (inputs.signature or b"").decode("ascii", "replace")
    if statement is None and page_statement is not None:
        statement, signature = page_statement[0].encode(errors="replace"), page_statement[1]
    return Read(
        inputs=inputs,
        page=page,
        inside=inside,
        full_record=full_record,
        record_sha256=hashlib.sha256(record).hexdigest() if record is not None else "",
        page_statement=page_statement,
        statement=statement,
        signature=signature,
    )
