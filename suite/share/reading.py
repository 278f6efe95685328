"""What was given, decoded: the page taken apart, the records inside and beside it, statement and signature."""

from typing import Literal, TypeAlias

import msgspec

from suite.analysis import guarded
from suite.record import files
from suite.record.schema import Run
from suite.report import embedded_record
from suite.report.embedded_record import Inside
from suite.share.given import Given
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


def read(given: Given) -> Read:
    """Decode what was given, within bounds.

    Raises
    ------
    LevelfieldError
        It is no report; with exit code 1 where it was one and was damaged.
    """
    page = parse_page(given.page) if given.page is not None else None
    carried = embedded_record.unpack(page.record.encode()) if page is not None else None
    whole: Run | None = None
    if given.record is not None:
        whole = guarded.decode(given.record, files.NAME)
    text, signature = given.statement, _ascii(given.signature)
    if text is None and page is not None and page.statement is not None:
        told, signature = embedded_record.attested(page.statement.encode())
        text = told.encode(errors="replace")
    return Read(given=given, page=page, inside=carried, whole=whole, statement=text, signature=signature)


def _ascii(signature: bytes | None) -> str:
    return (signature or b"").decode("ascii", "replace")
