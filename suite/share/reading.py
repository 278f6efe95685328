"""What was given, decoded: the page taken apart, the records inside and beside it, statement and signature."""

from typing import Literal, TypeAlias

import msgspec

from suite.analysis import guarded
from suite.record import files
from suite.record.schema import Run
from suite.report import embedded_record
from suite.report.embedded_record import PageRecord
from suite.share.inputs import VerificationInput
from suite.share.page import Page, parse_page

State: TypeAlias = Literal["holds", "broken", "open", "unverified"]


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    topic: str
    state: State
    """`open`: it is not here to be checked. `unverified`: it is here, and this version cannot check it."""
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
    statement: bytes | None
    signature: str

    @property
    def run(self) -> Run:
        if self.full_record is not None:
            return self.full_record
        assert self.inside is not None  # nothing is read that holds neither
        return self.inside.embedded.record


def read(inputs: VerificationInput) -> Read:
    """Decode what was given, within bounds.

    Raises
    ------
    LevelfieldError
        It is no report; with exit code 1 where it was one and was damaged.
    """
    page = parse_page(inputs.page) if inputs.page is not None else None
    carried = embedded_record.unpack(page.record.encode()) if page is not None else None
    full_record: Run | None = None
    if inputs.record is not None:
        full_record = guarded.decode(inputs.record, files.NAME)
    text, signature = inputs.statement, _ascii(inputs.signature)
    if text is None and page is not None and page.statement is not None:
        stated, signature = embedded_record.attested(page.statement.encode())
        text = stated.encode(errors="replace")
    return Read(inputs=inputs, page=page, inside=carried, full_record=full_record, statement=text, signature=signature)


def _ascii(signature: bytes | None) -> str:
    return (signature or b"").decode("ascii", "replace")
