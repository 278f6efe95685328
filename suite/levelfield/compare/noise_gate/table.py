"""A gate in the terminal: case by case, and what its figures mean."""

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from levelfield.compare import phrases
from levelfield.compare.noise_gate import notes
from levelfield.compare.noise_gate.file import NoiseGate, ratio
from levelfield.report import units


def show(gate: NoiseGate, console: Console) -> None:
    """Print a gate. Texts from records are printed as they are, never as rich's markup."""
    for line in _sentences(gate):
        console.print(Text(phrases.clean(line, 1000)))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("case", "cost", "spread (95 %)", "limit", "finds"):
        table.add_column(name, justify="left" if name == "case" else "right", overflow="fold")
    for case in gate.case:
        spread = f"{units.percent(case.spread)} ({units.percent_range(case.spread_low, case.spread_high)})"
        limit = f"{phrases.cost(case.limit, case.question.scenario)} (× {phrases.factor(case.worse_above)})"
        cost = phrases.cost(case.cost, case.question.scenario)
        cells = phrases.clean(case.id), cost, spread, limit, _change(case.finds)
        table.add_row(*map(Text, cells))
    console.print(table)
    for each in gate.without:
        console.print(Text(f"No limit for {phrases.clean(each.id)}: {phrases.clean(each.reason)}.", "yellow"))


def _sentences(gate: NoiseGate) -> Iterator[str]:
    runs, new = units.plural(len(gate.evidence), "run"), units.plural(gate.runs_each, "new run")
    yield (
        f"Limits for {new}, from the noise of {runs}: in at most {units.percent(gate.false_alarms)} of comparisons "
        f"without a change is any case called worse, {units.plural(len(gate.case), 'case')} together. A change of the "
        f"size under “finds” is called worse with a probability of {units.percent(gate.power)}."
    )
    began_s = notes.span_seconds([each.started for each in gate.evidence])
    if began_s is not None:
        yield (
            f"The runs began within {units.roughly(began_s)}: what varies more slowly is not in the limits. "
            "Take runs of several days where later runs are of another day."
        )
    if gate.runs_each == 1:
        earlier = [case.earlier for case in gate.case]
        two = [ratio(each.finds(2, gate.level, gate.power)) for each in earlier]
        span = f"{_change(min(two))} to {_change(max(two))}" if len(two) > 1 else _change(two[0])
        yield f"Two new runs, both above the limit, would find {span}: --runs-each 2."
    if gate.accepted:
        yield f"Accepted differences between the runs: {'; '.join(gate.accepted)}."


def _change(found: float) -> str:
    return units.percent(found - 1) if found < 10 else f"× {phrases.factor(found)}"
