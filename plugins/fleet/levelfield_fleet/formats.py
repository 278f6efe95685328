r"""The verdict on a fleet written down: for terminals, pull requests, CI, programs and monitoring. Answer first.

OpenMetrics: a family's metadata stands before its samples, families are not interleaved, and a name ends in its unit;
in labels ``\`` and ``"`` are escaped; the last line is ``# EOF``. What is not known has no sample. All families are
gauges: Prometheus's node exporter, which reads such a file from its folder of text files, refuses the types info and
stateset.

References
----------
R. Hartmann, B. Kochie, B. Brazil, R. Skillington (2020). OpenMetrics, version 1.0.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from levelfield.compare import formats as comparison
from levelfield.compare.formats.json import document as json_document
from levelfield.compare.formats.junit import Kind, Test
from levelfield.compare.formats.junit import document as junit_document
from levelfield.compare.phrases import clean
from levelfield.compare.types import Outcome
from levelfield.report.tables import markdown as table
from levelfield.report.units import plural
from levelfield.terminals import markdown_code as code
from levelfield.terminals import markdown_text as text
from levelfield.version import __version__
from levelfield_fleet import html, phrases
from levelfield_fleet.types import Fleet, Node, NodeVerdict

FORMAT = 1
"""Version of the JSON: a field may be added, none changes its meaning."""
WIDTH = 160
"""Of a text file."""
MOST_SHOWN, MOST_WRITTEN = 40, 100
"""Rows of a table in a terminal and in Markdown, where a comment has 65,536 characters at most; the page has all."""
_STYLES = {
    "": "yellow",
    NodeVerdict.WRONG: "bold red",
    NodeVerdict.FAILED: "bold red",
    NodeVerdict.SLOW: "bold red",
    NodeVerdict.FAST: "cyan",
}
_ANSWER_STYLES = {0: "bold green", 1: "bold red", 3: "bold yellow"}
_KINDS: Mapping[Outcome, Kind] = {"worse": "failure", "undecided": "skipped", "aside": "", "fine": ""}


def show(fleet: Fleet, console: Console) -> None:
    """Print a verdict. Texts from records are printed as they are, never as rich's markup."""
    # One line, so that `head -1` shows all of it.
    console.print(Text(phrases.first_line(fleet), _ANSWER_STYLES.get(fleet.exit_code, "bold")), soft_wrap=True)
    for part in _parts(fleet):
        console.print(part, highlight=False, markup=False)


def terminal(fleet: Fleet) -> str:
    """Return what a terminal would show, without colours."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False, emoji=False
    )
    show(fleet, console)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _parts(fleet: Fleet) -> Iterator[RenderableType]:
    yield from (Text(clean(note, 1000), "dim") for note in fleet.notes[:MOST_SHOWN])
    if len(fleet.notes) > MOST_SHOWN:
        yield Text(f"{len(fleet.notes) - MOST_SHOWN} more notes: --format html shows them.", "dim")
    yield Text()
    for section in phrases.sections(fleet):
        made = Table(title=Text(section.title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in section.headings:
            made.add_column(heading.removesuffix(":"), overflow="fold")
        for row in section.rows[:MOST_SHOWN]:
            made.add_row(*(Text(*_styled(*cell)) for cell in zip(section.headings, row, strict=True)))
        yield made
        if len(section.rows) > MOST_SHOWN:
            yield Text(f"{plural(len(section.rows) - MOST_SHOWN, 'more row')}: --format html shows them.", "dim")
    yield Text(clean(fleet.method, 1000), "dim")


def _styled(heading: str, cell: str) -> tuple[str, str]:
    return cell, _STYLES.get(cell, _STYLES[""]) if heading == "verdict" else ""


def markdown(fleet: Fleet) -> str:
    """Return the verdict as Markdown, in which a record's text is only text."""
    return "\n".join(_markdown(fleet)) + "\n"


def _markdown(fleet: Fleet) -> Iterator[str]:
    yield from (f"**{text(phrases.first_line(fleet))}**", "")
    counts = (f"{phrases.SIGNS[verdict]} {verdict}: {count}" for verdict, count in phrases.counted(fleet).items())
    yield from (text(", ".join(counts)), "")
    yield from (f"- {text(note)}" for note in fleet.notes[:MOST_WRITTEN])
    yield ""
    titles = {phrases.group_title(group) for group in fleet.groups}
    for section in phrases.sections(fleet):
        folded = section.title in titles
        yield from (f"<details><summary>{text(section.title)}</summary>" if folded else text(f"{section.title}:"), "")
        yield from table(section.headings, ((code(row[0]), *map(text, row[1:])) for row in section.rows[:MOST_WRITTEN]))
        yield ""
        if len(section.rows) > MOST_WRITTEN:
            yield from (f"{plural(len(section.rows) - MOST_WRITTEN, 'more row')}: `--format html` shows them.", "")
        yield from ("</details>", "") if folded else ()
    yield text(fleet.method)


def json(fleet: Fleet) -> str:
    """Return the verdict as JSON, each of its parts on a line of its own, the answer first."""
    first = {"answer": fleet.answer, "exit_code": fleet.exit_code, "format": FORMAT}
    return json_document(first | {name: getattr(fleet, name) for name in fleet.__struct_fields__ if name not in first})


def junit(fleet: Fleet) -> str:
    """Return the verdict as JUnit XML, one test a node, in which nothing undecided looks like a success.

    A node that is slow, wrong or failed is a *failure*; one that is noisy, not like the others or not decided is
    *skipped*, and one without a record that can be read is an *error*. A wrong answer is a failure of its own.
    """
    cells: dict[str, list[str]] = {}
    for name, result, *rest in phrases.case_by_case(fleet).rows:
        cells.setdefault(name, []).append(f"{result}: {', '.join(filter(None, rest))}")
    titles = {group.key: group.title for group in fleet.groups}
    suites: dict[str, list[Test]] = {}
    for node in fleet.nodes:
        title = titles.get(node.group) or "nodes without a record"
        suites.setdefault(title, []).append(_test(node, cells.get(phrases.node(node.name), [])))
    if fleet.wrong:
        suites["wrong answers"] = [
            Test(f"{node}/{answer}", "fleet.answers", "failure", "computes wrongly", digests)
            for node, answer, digests in map(phrases.answer_cells, fleet.wrong)
        ]
    return junit_document(phrases.first_line(fleet), suites)


def _test(node: Node, cells: list[str]) -> Test:
    kind = _KINDS[node.outcome] if node.runs or node.outcome != "undecided" else "error"
    return Test(node.name, "fleet.node", kind, node.verdict, "; ".join((phrases.named(node), *cells)))


class _Family(NamedTuple):
    name: str
    help: str
    samples: Iterable[tuple[Mapping[str, str], float]]
    unit: str = ""
    """The name ends with it."""


def openmetrics(fleet: Fleet) -> str:
    return "".join(f"{line}\n" for line in _openmetrics(fleet))


def _openmetrics(fleet: Fleet) -> Iterator[str]:
    for family in _families(fleet):
        yield f"# TYPE {family.name} gauge"
        if family.unit:
            yield f"# UNIT {family.name} {family.unit}"
        yield f"# HELP {family.name} {family.help}"
        said: set[str] = set()
        for labels, value in family.samples:
            inside = ",".join(f'{name}="{_escaped(label)}"' for name, label in labels.items())
            if inside not in said:  # names of strangers may look alike once they can be printed
                said.add(inside)
                yield f"{family.name}{{{inside}}} {value:.10g}"
    yield "# EOF"


def _families(fleet: Fleet) -> Iterator[_Family]:
    about = {"version": __version__, "margin": f"{fleet.margin:g}", "level": f"{fleet.level:g}"}
    yield _Family("levelfield_fleet_exit_code", "Exit code of the verdict on the fleet.", [(about, fleet.exit_code)])
    counts = phrases.counted(fleet)
    yield _Family(
        "levelfield_fleet_nodes",
        "Nodes with a verdict.",
        [({"verdict": verdict.value}, counts.get(verdict, 0)) for verdict in NodeVerdict],
    )
    yield _Family(
        "levelfield_node_verdict",
        "1 for the most serious verdict on a node, 0 for the others.",
        [
            ({"node": node.name, "group": node.group, "verdict": verdict.value}, node.verdict is verdict)
            for node in fleet.nodes
            for verdict in NodeVerdict
        ],
    )
    wrong = Counter(one.node for one in fleet.wrong)
    yield _Family(
        "levelfield_node_wrong_answers",
        "Answers of a node that are not those of most of its peers.",
        [({"node": node.name}, wrong[node.name]) for node in fleet.nodes],
    )
    for bound, name, description in (
        ("value", "cost", "Cost of a node in a case over the centre of its peers; above 1 costs more."),
        ("low", "cost_low", "Lower bound of that ratio, for all nodes and cases at once."),
        ("high", "cost_high", "Upper bound of that ratio, for all nodes and cases at once."),
    ):
        ratios = ((cell, getattr(cell.ratio, bound)) for cell in fleet.cells if cell.ratio is not None)
        known = [({"node": cell.node, "result": cell.result}, ratio) for cell, ratio in ratios if ratio is not None]
        yield _Family(f"levelfield_node_{name}_ratio", description, known, "ratio")


def _escaped(label: str) -> str:
    return clean(label).replace("\\", "\\\\").replace('"', '\\"')


WRITERS: Mapping[str, Callable[[Fleet], str]] = MappingProxyType(
    {
        "terminal": terminal,
        "markdown": markdown,
        "junit": junit,
        "json": json,
        "html": html.write,
        "openmetrics": openmetrics,
    }
)
"""Name of a format to what writes it."""
SUFFIXES: Mapping[str, str] = MappingProxyType({**comparison.SUFFIXES, ".prom": "openmetrics"})
"""Ending of a file to its format."""
