"""`levelfield report`, `verify`, `export` and `publish`: what others get of runs."""

import codecs
import contextlib
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from levelfield import terminals
from levelfield.cli import completion
from levelfield.errors import LevelfieldError, explained, printable
from levelfield.names import plural
from levelfield.options.registry import CSV, JSON, PRICE, REPORTS, SIGN, own_folder
from levelfield.options.values import Typed, parse_base_url, parse_title
from levelfield.record.files import content_of, has_record, named_file, write_atomically
from levelfield.report.export import TABLES, columns_of
from levelfield.untrusted import may_be_there, open_plain

if TYPE_CHECKING:
    from levelfield.analysis.guarded import Record
    from levelfield.record.schema import Price
    from levelfield.report.tables import Value
    from levelfield.share.attestation import State
    from levelfield.share.verify import Verdict, Verified

_BARE_KEY = re.compile(rb"(ssh|ecdsa|sk)-\S+ AAAA")
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
    "not verified": ("bold yellow", "This version cannot check the page. The record by itself: {record}."),
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
@click.argument("run", shell_complete=completion.runs)
@REPORTS
@PRICE
@SIGN
@click.option(
    "--card",
    "card_folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write only a summary for a README or a pull request to this folder: card.svg and card.md.",
)
@JSON
def report(
    run: str, reports: Path, price: "Price | None", sign: Path | None, card_folder: Path | None, *, as_json: bool
) -> None:
    """Render the report of a run again, and show its result.

    RUN is a run's id, its folder or its page. With --price only the costs are shown, at that price: the record and
    its page stay as they are.
    """
    import dataclasses

    from levelfield.analysis import guarded, money
    from levelfield.analysis.status import AB
    from levelfield.compare import sides
    from levelfield.report import terminal
    from levelfield.run import ab
    from levelfield.run.results import show_result

    console = terminals.console(stderr=as_json)
    record = guarded.read(sides.find(run, reports))
    with guarded.computing(record.name):
        if price is not None:
            priced = money.at(record.run, price)
            if as_json:
                raise click.UsageError("Costs are shown as a table: leave --json out.")
            terminals.show(console, terminal.show_costs(priced, dataclasses.replace(record.analysis, run=priced)))
            return
        if card_folder is not None:
            _write_card(record, card_folder, console)
            return
        sides.check_agreement(record.run, record.name)  # a result follows, and its exit code
        if AB in record.run.labels:
            code = ab.show(ab.of_record(record.file), console, measured=False, sign=sign)
        else:
            show_result(record.file, record.run, record.analysis, console, measured=False, sign=sign)
            code = record.analysis.exit_code
    if as_json:
        from levelfield.cli.json import measured, print_json

        print_json(measured(record, code))
    sys.exit(code)


def _write_card(record: "Record", folder: Path, console: Console) -> None:
    from levelfield.share import card

    folder.mkdir(parents=True, exist_ok=True)
    for name, write in (("card.svg", card.svg), ("card.md", card.markdown)):
        write_atomically(folder / name, write(record.run, record.analysis).encode("utf-8", "replace"))
        terminals.say(console, str(folder / name))


SIGNERS = click.option(
    "--signers",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of known signers, one per line: NAME and public key (the allowed signers file of ssh-keygen).",
)


def _readable(signers: Path | None) -> None:
    if signers is None:
        return
    fix = "Write a line for each signer: NAME ssh-ed25519 AAAA…, the name and the public key."
    if not signers.is_file():
        raise LevelfieldError(f"There is no plain file {signers}.", fix=fix)
    with contextlib.suppress(OSError), open_plain(signers) as file:
        if _BARE_KEY.match(file.read(100)):
            raise LevelfieldError(f"{signers} begins with a public key without a name.", fix=fix)


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@SIGNERS
@click.option(
    "--page",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page that this version renders from the record to this file.",
)
@JSON
def verify(report: Path, signers: Path | None, page: Path | None, *, as_json: bool) -> None:
    """Verify a report: its HTML file, or a run's folder; or each run of a site.

    Digests, statement and signature are checked, and the page is rendered again from its record and compared.

    Exit codes: 0 nothing is wrong; 1 verification failed; 2 it cannot be read; 3 this version cannot verify it, or none
    of the --signers signed it.
    """
    from levelfield.share.attestation import read
    from levelfield.share.verify import render
    from levelfield.share.verify import verify as check

    _readable(signers)
    if not as_json and page is None and not has_record(report) and (pages := sorted(report.glob("runs/*/index.html"))):
        sys.exit(_verify_each(pages, signers))
    with _at_most(LIMIT_S):
        given = read(report)
        found = check(given, signers=signers)
        if page is not None:
            write_atomically(page, render(given).encode(errors="replace"), named=True)
    console = terminals.console(stderr=as_json)
    console.print(_summary(found), highlight=False, soft_wrap=True)
    for each in found.checks:
        console.print(
            f"{_SIGNS[each.state]} [bold]{each.topic}[/]: {_line(each.says)}", highlight=False, soft_wrap=True
        )
        for named in each.named:
            console.print(f"       {_line(named)}", highlight=False, soft_wrap=True)
    terminals.say(console, _MEANINGS[found.verdict][1].format(record=found.record_verdict))
    if as_json:
        from levelfield.cli.json import checked, print_json

        print_json(checked(found))
    sys.exit(found.exit_code)


def _summary(found: "Verified") -> str:
    by = f" by {_line(found.signer)}" if found.verdict == "verified" else ""
    told = f"[{_MEANINGS[found.verdict][0]}]{found.verdict.capitalize()}[/]{by}"
    return f"{told}: run {_line(found.run.id)} of {_line(found.run.started)}."


def _verify_each(pages: list[Path], signers: Path | None) -> int:
    """Verify the pages of a site's runs, one line each, and return the worst exit code."""
    from levelfield.share.attestation import read
    from levelfield.share.verify import verify as check

    console = terminals.console()
    codes: list[int] = []
    for page in pages:
        try:
            with _at_most(LIMIT_S):
                found = check(read(page), signers=signers)
            said, code = _summary(found), found.exit_code
        except LevelfieldError as error:
            said, code = _line(str(error)), error.exit_code
        console.print(f"{_line(str(page))}: {said}", highlight=False, soft_wrap=True)
        codes.append(code)
    terminals.say(console, "Index, comparisons and trends are made from these pages, and are not verified.")
    return min(codes, key=(1, 2, 3, 0).index)


def _line(text: str) -> str:
    return escape(" ".join(text.split()))


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End what takes longer: a report may have been made to keep its reader busy."""

    def late(_number: int, _frame: FrameType | None) -> None:
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


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=completion.runs)
@click.option(
    "--table",
    type=click.Choice(TABLES),
    default="results",
    help="What each row is: a result, a launch, a window or a single timed call.",
)
@CSV
@click.option(
    "--openmetrics", metavar="FILE", help="Write results as OpenMetrics text to this file; - for the terminal."
)
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the record of one run as JSON to this file.",
)
@REPORTS
def export(
    runs: tuple[str, ...], table: str, csv_file: str | None, openmetrics: str | None, record: Path | None, reports: Path
) -> None:
    """Write runs as one table in CSV, or as metrics; or write the record of one as JSON.

    A run is named by its id, its folder or its page. Without an option, CSV goes to the terminal.
    """
    from levelfield.compare import sides
    from levelfield.report import export
    from levelfield.report.export import write_csv

    if openmetrics is not None and table != "results":
        raise click.UsageError("--openmetrics has results alone: leave --table out.")
    if openmetrics == csv_file == "-":
        raise click.UsageError("Either CSV or OpenMetrics can go to the terminal, not both.")
    found = [sides.find(name, reports) for name in runs]
    if record is not None:
        if len(found) > 1:
            raise click.UsageError("--record writes the record of one run.")
        write_atomically(record, content_of(found[0]), named=True)
    columns = columns_of(table)
    if openmetrics is not None:
        lines = list(export.write(_all(found, table)))
        text = "".join(f"{printable(line)}\n" for line in lines)
        if openmetrics == "-":
            terminals.write(text)
        else:
            write_atomically(Path(openmetrics), text.encode(), named=True)
            _say(sum(not line.startswith("#") for line in lines), Path(openmetrics), "samples")
    if csv_file == "-" or not (csv_file or openmetrics or record):
        write_csv(terminals.PrintableText(sys.stdout), columns, _all(found, table))
    elif csv_file is not None:
        target = Path(csv_file)
        with named_file(target) as file:
            count = write_csv(codecs.getwriter("utf-8")(file), columns, _all(found, table))
        _say(count, target)


def _all(records: list[Path], table: str) -> "Iterator[dict[str, Value]]":
    """Read records one after the other: only one is in memory at a time, and none is read twice."""
    from levelfield.analysis import guarded
    from levelfield.compare import sides
    from levelfield.report.export import rows

    ids: list[str] = []
    for file in records:
        record = guarded.read(file)
        ids.append(record.run.id)
        sides.check_distinct(ids)
        with guarded.computing(record.name):
            yield from rows(table, record.run, record.analysis)


def _say(count: int, target: Path, what: str = "rows") -> None:
    terminals.say(terminals.console(stderr=True), f"{count} {what} in {target}")


@click.command()
@click.argument("sources", nargs=-1, metavar="[RUNS…]", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("site"), callback=own_folder, help="Folder of the site."
)
@click.option("--title", type=Typed("text", parse_title), default="Levelfield reports", help="Title of the site.")
@click.option(
    "--base-url",
    type=Typed("url", parse_base_url),
    help="Where the site will be: for canonical links, and for the Markdown of cards that can be pasted anywhere.",
)
@SIGNERS
@REPORTS
def publish(
    sources: tuple[Path, ...], out: Path, title: str, base_url: str | None, signers: Path | None, reports: Path
) -> None:
    """Write a static site of runs.

    RUNS are folders of runs, runs' own folders, and pages, also of other people; without any, it is the reports folder.
    Each is verified. The site opens with the fastest arms on each machine and what changed, and has every report,
    comparisons of two runs, and trends. Any web server for static files can host it. Its pages load nothing from other
    sites.

    Exit code 1: a run was left out, since it cannot be read, its verification failed, or its id is another's.
    """
    from levelfield.share import site

    console = terminals.console()
    if not sources and not reports.is_dir():
        raise LevelfieldError(f"There is no folder {reports} with runs.", fix="Name one with --reports.")
    for path in sources:
        if not may_be_there(path):
            raise LevelfieldError(f"There is no {path}.", fix="Name a folder of runs, a run's folder or its page.")
    _readable(signers)
    unwritable = explained(f"{out} cannot be written", "Free space there, or name another folder with --out.")
    with console.status("reading") as status, unwritable:
        made = site.publish(
            sources or (reports,),
            out,
            lambda text: status.update(escape(printable(text))),
            title=title,
            base=base_url or "",
            signers=signers,
        )
    for each in made.skipped:
        terminals.say(console, f"Left out: {each}", "yellow")
    terminals.say(
        console,
        f"{plural(made.runs, 'run')}, {plural(made.comparisons, 'comparison')} and "
        f"{plural(made.trends, 'page')} of trends: {out / 'index.html'}",
    )
    sys.exit(1 if made.skipped else 0)
