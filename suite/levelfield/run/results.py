"""The result of a run: its page, and its answer in the terminal."""

import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console

from levelfield import terminals, untrusted
from levelfield.analysis import Analysis, summaries
from levelfield.compare.formats import terminal as comparison_terminal
from levelfield.compare.formats.html import within
from levelfield.compare.types import Comparison
from levelfield.record import files, page
from levelfield.record.schema import Run
from levelfield.record.warnings import NOT_DECIDED, OF_AN_END, PRECISION_NOT_REACHED
from levelfield.report import html, terminal
from levelfield.run.options import again
from levelfield.schedule.pacing import remaining_passes
from levelfield.share import attestation


def something_left(run: Run) -> bool:
    """Return whether a run did not end, has generations to go, or lacks a precision or a verdict that was asked."""
    short = any(warning.code in {NOT_DECIDED, PRECISION_NOT_REACHED} for warning in run.warnings)
    return run.finished is None or short or bool(remaining_passes(run.blocks))


def _page_of(record: Path) -> Path:
    """Return where the page of a record goes: in the place of an older page, and beside JSON."""
    if record.name == files.NAME:
        return record.parent / page.NAME
    with untrusted.open_plain(record) as file:
        return record if page.is_page(file.read(page.BEGINNING)) else record.with_name(f"{record.name}.html")


def show_result(
    record: Path,
    run: Run,
    result: Analysis,
    console: Console,
    *,
    measured: bool,
    comparison: Comparison | None = None,
    sign: Path | None = None,
) -> None:
    """Write the page of a run, which is its record, and show its result; the journal of a run that ended goes.

    `record`: the record's file; of a run that was just measured, the page to write. `comparison`: of the arms of an
    `ab`, whose answer is shown first; None: the run is a bench. `sign`: SSH key that signs the run's statement; None:
    it is not signed.
    """
    content = files.encode(run) if measured else files.content_of(record)
    before = ""
    carried: AbstractContextManager[tuple[page.Evidence, str]]
    if measured:
        carried = nullcontext(attestation.write_evidence(record.parent, run, content, sign))
    elif sign is not None:
        known = attestation.evidence_of(record, content)
        before = attestation.signed_by(known)
        carried = attestation.signing(record.parent, run, known, sign)
    else:
        carried = nullcontext((attestation.evidence_of(record, content), ""))
    report = record if measured else _page_of(record)
    compared = within(comparison) if comparison is not None else None
    with carried as (evidence, unproven):
        try:
            rendered = html.render(run, result, comparison=compared, evidence=evidence).encode()
        except Exception:
            if measured:  # what was measured must not depend on how it is shown
                files.write(run, record.parent)
            raise
        files.write_atomically(report, rendered)
    if measured and not something_left(run) and files.content_of(report) == content:
        (record.parent / files.JOURNAL).unlink(missing_ok=True)
    if comparison is not None:
        comparison_terminal.show(comparison, console)
    else:
        (terminal.show_summary if measured else terminal.show)(run, result, console)
    console.print()
    terminals.say(console, f"Report: {report}", "bold")
    if sign is not None and (key := attestation.signed_by(evidence)):
        replaced = f"; that replaces the signature by {before}" if before not in {"", key} else ""
        terminals.say(console, f"Signed with {key}{replaced}. `levelfield verify` with --signers shows whose that is.")
    missing = [unproven]
    if measured:
        if comparison is None:
            terminals.say(console, f"All tables and warnings: levelfield report {shlex.quote(str(record.parent))}")
        ends = dict.fromkeys(each.remedy for each in run.warnings if each.code in OF_AN_END)
        command = "levelfield bench " if "reproduce" in run.command[1:2] else ""  # which cannot go on
        if run.command[1:2] == ("ab",):
            first, second = (*run.settings.backends, *run.settings.backends)[:2]
            command = f"levelfield ab {shlex.quote(first)} {shlex.quote(second)} "
        named = f"{command}--resume {again(record.parent, run.command)}"
        missing += [each.replace("--resume", named, 1) for each in ends]
        missing.append(summaries.enter(record.parent, content, run, result))
    for text in filter(None, missing):
        terminals.say(console, text, "yellow")
