"""From a folder of records to the verdict on a fleet: `levelfield fleet gather`.

Whatever way the records came, all that is known of a node is the name of its folder and what its records say. A record
that lies under two nodes is nobody's: it is not known which of them measured it, and neither is judged by it.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from levelfield.analysis.summary import Reduced
from levelfield.compare import sides
from levelfield.errors import LevelfieldError
from levelfield.record import page
from levelfield.report import units
from levelfield_fleet import records
from levelfield_fleet.judge import judge
from levelfield_fleet.records import Place
from levelfield_fleet.types import Fleet, Node, NodeVerdict

NO_RECORD = "no record of it can be read"

_Read: TypeAlias = tuple[Place, Reduced]


class Gathered(msgspec.Struct, frozen=True):
    """The records of a fleet, reduced to what a verdict needs."""

    nodes: Mapping[str, tuple[Reduced, ...]]
    """Node to its runs, the oldest first; a node of which no record can be read has none."""
    reports: Mapping[str, str]
    """Node to the report beside its newest record, relative to the folder, where there is one."""
    notes: tuple[str, ...]
    """What was left out, a sentence each."""


def gather(folder: Path) -> Gathered:
    """Read the records of all nodes under a folder; one that is damaged or hostile is noted and left out.

    Raises LevelfieldError: the folder cannot be read or holds no folder of a node, or the system ended a process that
    reads records.
    """
    found = records.find(folder)
    answers = list(zip(found.places, records.read_all(found.places), strict=True))
    kept, repeated = _without_copies([(place, run) for place, run in answers if isinstance(run, Reduced)])
    runs: dict[str, list[_Read]] = {name: [] for name in found.nodes}
    for place, run in sorted(kept, key=lambda each: each[1].facts.started):
        runs[place.node].append((place, run))
    newest = {name: of_node[-1][0] for name, of_node in runs.items() if of_node}
    return Gathered(
        nodes={name: tuple(run for _, run in of_node) for name, of_node in runs.items()},
        reports={name: path for name, place in newest.items() if (path := _report(place, folder))},
        notes=(
            *found.notes,
            *(each.reason for _, each in answers if isinstance(each, records.Unread)),
            *repeated,
        ),
    )


def _report(place: Place, folder: Path) -> str:
    """Return the relative path of the report beside a record; empty where there is none, or its path is no text."""
    file = place.folder / page.NAME
    try:
        path = os.path.relpath(file, folder)
        path.encode()
        return path if stat.S_ISREG(file.lstat().st_mode) else ""
    except (OSError, UnicodeEncodeError):
        return ""


def verdict(gathered: Gathered, *, margin: float, level: float) -> Fleet:
    """Judge the nodes of a fleet.

    `margin`: a relative deviation that does not matter. Raises LevelfieldError: no record of any node can be read.
    """
    present = {name: runs for name, runs in gathered.nodes.items() if runs}
    silent = [name for name, runs in gathered.nodes.items() if not runs]
    if not present:
        raise LevelfieldError(
            f"No record of any node can be read. {gathered.notes[0] if gathered.notes else ''}".strip(),
            fix="Gather the runs as FOLDER/NODE/RUN or FOLDER/NODE.",
        )
    with np.errstate(over="ignore"):  # a stranger's costs may be as far apart as numbers can be
        found = judge(present, margin=margin, level=level, reports=gathered.reports)
    who = silent[0] if len(silent) == 1 else units.plural(len(silent), "node")
    unread = (Node(name, "", NodeVerdict.UNDECIDED, "undecided", NO_RECORD) for name in silent)
    return msgspec.structs.replace(
        found,
        answer=f"{found.answer} Of {who} no record can be read." if silent else found.answer,
        exit_code=found.exit_code or (3 if silent else 0),
        nodes=(*found.nodes, *unread),
        notes=(*found.notes, *gathered.notes),
    )


def _without_copies(read: Sequence[_Read]) -> tuple[list[_Read], list[str]]:
    """Return the records that are of one node alone, each once, and sentences about the others.

    An id has a start in whole seconds and a random part of 16 bits, so that of a thousand nodes that begin at once some
    share one. Two records are of one run where they are the same file, or have the same costs in a case and, of few
    launches, one id.
    """
    groups: dict[object, list[_Read]] = {}
    for one, first in zip(read, sides.originals([run for _, run in read]), strict=True):
        facts, answers = one[1].facts, one[1].answers
        marks: list[object] = [facts.sha256, first]
        marks += [(facts.id, key, answer.launch_costs) for key, answer in answers.items() if answer.launch_costs]
        group = next((groups[mark] for mark in marks if mark in groups), [])
        group.append(one)
        groups |= {mark: group for mark in marks if mark not in groups}
    kept: list[_Read] = []
    notes: list[str] = []
    for group in {id(group): group for group in groups.values()}.values():
        nodes = {place.node for place, _ in group}
        if len(nodes) == 1:
            kept.append(group[0])
            notes += [f"{place.name} is {group[0][0].name} a second time, and counts once." for place, _ in group[1:]]
        else:
            names = ", ".join(place.name for place, _ in group)
            notes.append(
                f"One run lies under {len(nodes)} nodes and is left out, since it is not known whose: {names}."
            )
    return kept, notes
