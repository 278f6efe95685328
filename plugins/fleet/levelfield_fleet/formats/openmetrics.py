r"""The verdict on a fleet for monitoring: OpenMetrics text.

A family's metadata stands before its samples, families are not interleaved, and a name ends in its unit; in labels
``\`` and ``"`` are escaped; the last line is ``# EOF``. What is not known has no sample. All families are gauges:
Prometheus's node exporter, which reads such a file from its folder of text files, refuses the types info and stateset.

References
----------
R. Hartmann, B. Kochie, B. Brazil, R. Skillington (2020). OpenMetrics, version 1.0.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from levelfield.compare.phrases import clean
from levelfield.version import __version__
from levelfield_fleet import phrases
from levelfield_fleet.types import Cell, Fleet, NodeVerdict


class _Family(msgspec.Struct, frozen=True):
    name: str
    help: str
    samples: Iterable[tuple[Mapping[str, str], float]]
    unit: str = ""
    """The name ends with it."""


def write(fleet: Fleet) -> str:
    """Return the verdict as OpenMetrics text."""
    return "".join(f"{line}\n" for line in _lines(fleet))


def _lines(fleet: Fleet) -> Iterator[str]:
    for family in _families(fleet):
        yield f"# TYPE {family.name} gauge"
        if family.unit:
            yield f"# UNIT {family.name} {family.unit}"
        yield f"# HELP {family.name} {family.help}"
        said: set[str] = set()
        for labels, value in family.samples:
            inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
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
    wrong = Counter(each.node for each in fleet.wrong)
    yield _Family(
        "levelfield_node_wrong_answers",
        "Answers of a node that are not those of most of its peers.",
        [({"node": node.name}, wrong[node.name]) for node in fleet.nodes],
    )
    judged = [(cell, cell.ratio) for cell in fleet.cells if cell.ratio is not None]
    yield _Family(
        "levelfield_node_cost_ratio",
        "Cost of a node in a case over the centre of its peers; above 1 costs more.",
        [(_of(cell), found.value) for cell, found in judged],
        unit="ratio",
    )
    yield _Family(
        "levelfield_node_cost_low_ratio",
        "Lower bound of that ratio, for all nodes and cases at once.",
        [(_of(cell), found.low) for cell, found in judged if found.low is not None],
        unit="ratio",
    )
    yield _Family(
        "levelfield_node_cost_high_ratio",
        "Upper bound of that ratio, for all nodes and cases at once.",
        [(_of(cell), found.high) for cell, found in judged if found.high is not None],
        unit="ratio",
    )


def _of(cell: Cell) -> dict[str, str]:
    return {"node": cell.node, "result": cell.result}


def _escaped(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
