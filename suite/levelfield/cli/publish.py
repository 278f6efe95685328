"""`levelfield publish`: the reports folder as a static site; `levelfield card RUN`: one run as SVG and Markdown."""

from pathlib import Path

import click
from rich.markup import escape

from levelfield.cli import completion
from levelfield.cli.options import REPORTS
from levelfield.errors import LevelfieldError, printable
from levelfield.safety import terminals


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("site"), help="Folder of the site.")
@REPORTS
def publish(out: Path, reports: Path) -> None:
    """Write a static site of all runs.

    It has an index with filters, every report, comparisons of two runs, and trends. Any web server for static files can
    host it. Its pages load nothing from other sites.
    """
    from levelfield.share.site.pages import publish as write

    console = terminals.console()
    if not reports.is_dir():
        raise LevelfieldError(f"There is no folder {reports} with runs.", fix="Name one with --reports.")
    with console.status("reading") as status:
        made = write(reports, out, lambda text: status.update(escape(printable(text))))
    for each in made.skipped:
        terminals.say(console, f"Left out: {each}", "yellow")
    terminals.say(
        console,
        f"{made.runs} runs, {made.comparisons} comparisons and {made.trends} pages of trends: {out / 'index.html'}",
    )


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder to write to.",
)
@REPORTS
def card(run: str, out: Path, reports: Path) -> None:
    """Write a summary of a run for a README or a pull request.

    The picture is card.svg, the Markdown is card.md.
    """
    from levelfield.analysis import guarded
    from levelfield.compare import sides
    from levelfield.record.files import write_atomically
    from levelfield.share import card as cards

    record = guarded.read(sides.find(run, reports))
    with guarded.computing(record.name):
        svg, markdown = cards.svg(record.run, record.analysis), cards.markdown(record.run, record.analysis)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (("card.svg", svg), ("card.md", markdown)):
        write_atomically(out / name, content.encode("utf-8", "replace"))
        terminals.say(terminals.console(), str(out / name))
