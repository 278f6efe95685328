"""A reproduction in the terminal: the answer, numerics, speed, then what differs around them."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from levelfield.compare import phrases
from levelfield.compare.reproduction import Reproduction, Result, Verdict
from levelfield.run.reproduce.intent import Foreign

MOST_CHANGES = 30
_STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.DIFFERS: "bold red",
    Verdict.NUMERICS: "bold red",
    Verdict.FAILED: "bold red",
    Verdict.UNDECIDED: "yellow",
    Verdict.MISSING: "yellow",
    Verdict.ELSEWHERE: "cyan",
}
_ANSWER_STYLES = {0: "bold green", 1: "bold red", 3: "bold yellow"}


def show(found: Reproduction, console: Console) -> None:
    """Print a reproduction. Texts from records are printed as they are, never as rich's markup."""
    console.print(Text(phrases.clean(found.answer, 1000), _ANSWER_STYLES[found.exit_code]), soft_wrap=True)
    for part in _parts(found):
        console.print(part, highlight=False, markup=False)


def foreign(images: Sequence[Foreign]) -> Table:
    """Show which images this checkout would build instead of the report's."""
    table = Table(title="Not the report's images", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("image", "its lock", "lock here", "what would differ"):
        table.add_column(name, overflow="fold")
    for each in images:
        table.add_row(
            Text(phrases.clean(each.image)),
            Text(phrases.clean(each.theirs) or "none"),
            Text(each.ours or "none"),
            Text(phrases.clean(", ".join(each.differences), 600)),
        )
    return table


def _parts(found: Reproduction) -> Iterator[RenderableType]:
    yield Text(f"report: {phrases.clean(found.of)}   here: {phrases.clean(found.by)}", "dim")
    yield Text(f"Numerics: {phrases.clean(found.numerics, 1000)}")
    yield Text(f"Speed and memory: {phrases.clean(found.speed, 1000)}")
    yield Text()
    yield _results(found.results, found.confidence)
    yield from _changes(found)


def _results(results: Sequence[Result], confidence: float) -> Table:
    table = Table(title="Result by result", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("arm", "case"):
        table.add_column(name, overflow="fold")
    for name in ("report", "here", f"here/report ({confidence:.0%})"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for result in results:
        metric = result.case.scenario
        verdict = Text(result.verdict.value, _STYLES[result.verdict])
        if result.reason:
            verdict.append(f" ({phrases.clean(result.reason)})", "dim")
        table.add_row(
            Text(phrases.clean(result.arm)),
            Text(phrases.clean(result.case.id)),
            Text(phrases.cost(result.theirs, metric)),
            Text(phrases.cost(result.ours, metric)),
            Text(_ratio(result)),
            verdict,
        )
    return table


def _ratio(result: Result) -> str:
    ratio = result.ratio
    if ratio is None:
        return "–"
    text = f"{ratio.value:.3f}"
    return text if ratio.low is None or ratio.high is None else f"{text} ({ratio.low:.3f}–{ratio.high:.3f})"


def _changes(found: Reproduction) -> Iterator[Text]:
    missing = phrases.unrecorded(found.changes)
    if missing:
        yield Text(missing, "dim")
    changed = [(group.title, change) for group in found.changes for change in group.changed]
    if not changed:
        yield Text("Nothing that both records hold of the environment differs.", "dim")
        return
    yield Text("What differs in the environment", "bold")
    for title, change in changed[:MOST_CHANGES]:
        yield Text(f"  {phrases.clean(title)}, {phrases.change(change)}")
    if len(changed) > MOST_CHANGES:
        yield Text(f"  and {len(changed) - MOST_CHANGES} more", "dim")
