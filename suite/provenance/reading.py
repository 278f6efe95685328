"""What was given, decoded: the page taken apart, the records inside and beside it, statement and signature."""

from typing import Literal, TypeAlias

import msgspec

from suite import guarded
from suite.provenance.given import Given
from suite.provenance.page import Page, take_apart
from suite.records import files
from suite.records.schema import Run
from suite.report import inside
from suite.report.inside import Inside

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


def read(given: Given) -> Read:
    """Decode what was given, within bounds.

    Raises
    ------
    LevelfieldError
        It is no report; with exit code 1 where it was one and was damaged.
    """
    page = take_apart(given.page) if given.page is not None else None
    carried = inside.unpack(page.record.encode()) if page is not None else None
    whole: Run | None = None
    if given.record is not None:
        whole = guarded.decode(given.record, files.NAME)
    text, signature = given.statement, _ascii(given.signature)
    if text is None and page is not None and page.statement is not None:
        told, signature = inside.attested(page.statement.encode())
        text = told.encode(errors="replace")
    return Read(given=given, page=page, inside=carried, whole=whole, statement=text, signature=signature)


def _ascii(signature: bytes | None) -> str:
    return (signature or b"").decode("ascii", "replace")
