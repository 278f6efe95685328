"""`levelfield verify REPORT`: whether a report is unchanged, and who signed it."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from levelfield.cli.answers.printing import JSON, print_json
from levelfield.errors import LevelfieldError
from levelfield.safety import terminals

if TYPE_CHECKING:
    from levelfield.share.attestation import State
    from levelfield.share.verify import Verdict

LIMIT_S = 600
"""No report takes longer than this to check; what does was made to."""
_CONSISTENT = (
    "Everything in it fits together. That alone does not show who made it: a forgery whose samples were changed and "
    "all else made anew would look the same."
)
_MEANINGS: "dict[Verdict, tuple[str, str]]" = {
    "verified": (
        "bold green",
        "Nothing was changed since it was signed. What the signer measured, and how, the signer answers for.",
    ),
    "verification failed": ("bold red", "Do not rely on it: it was changed after it was made, or damaged."),
    "not verified": (
        "bold yellow",
        "This version cannot check the page. The record by itself: {record}.",
    ),
    "consistent, but unsigned": ("bold", _CONSISTENT),
    "consistent, but signer unknown": ("bold", _CONSISTENT),
}
"""Style and meaning of each verdict."""
_SIGNS: "dict[State, str]" = {
    "holds": "[green]ok  [/]",
    "open": "[yellow]note[/]",
    "unverified": "[yellow]note[/]",
    "broken": "[red]bad [/]",
}


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--signers",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of known signers, one per line: NAME and public key (the allowed signers file of ssh-keygen).",
)
@click.option(
    "--page",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page that this version renders from the record to this file.",
)
@JSON
def verify(report: Path, signers: Path | None, page: Path | None, *, as_json: bool) -> None:
    """Verify a report: its HTML file, or a run's folder.

    Digests, statement and signature are checked, and the page is rendered again from its record and compared.

    Exit codes: 0 nothing is wrong; 1 verification failed; 2 it cannot be read; 3 this version cannot verify it, or none
    of the --signers signed it.
    """
    from levelfield.cli.answers.checked import checked
    from levelfield.record.files import write_atomically
    from levelfield.share.inputs import read
    from levelfield.share.verify import render
    from levelfield.share.verify import verify as check

    if signers is not None and not signers.is_file():
        raise LevelfieldError(
            f"There is no file of signers {signers}.", fix="Write one line for each: NAME and the public key."
        )
    with _at_most(LIMIT_S):
        given = read(report)
        found = check(given, signers=signers)
        if page is not None:
            write_atomically(page, render(given).encode(errors="replace"))
    console = terminals.console(stderr=as_json)
    style, meaning = _MEANINGS[found.verdict]
    console.print(
        f"[{style}]{found.verdict.capitalize()}[/]"
        f"{f' by {_line(found.signer)}' if found.verdict == 'verified' else ''}: run {_line(found.run.id)} of "
        f"{_line(found.run.started)}.",
        highlight=False,
        soft_wrap=True,
    )
    for each in found.checks:
        console.print(
            f"{_SIGNS[each.state]} [bold]{each.topic}[/]: {_line(each.says)}", highlight=False, soft_wrap=True
        )
        for named in each.named:
            console.print(f"       {_line(named)}", highlight=False, soft_wrap=True)
    terminals.say(console, meaning.format(record=found.record_verdict))
    if as_json:
        print_json(checked(found))
    sys.exit(found.exit_code)


def _line(text: str) -> str:
    return escape(" ".join(text.split()))


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End what takes longer: a report may have been made to keep its reader busy."""

    def late(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise LevelfieldError(
            f"Checking it takes longer than {seconds:.0f} s.", fix="No run takes that; it was made to, or damaged."
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
