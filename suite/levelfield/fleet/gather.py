"""From a folder of records to the verdict on a fleet: `levelfield fleet gather`.

Whatever way the records came, all that is known of a node is the name of its folder and what its records say. A record
that lies under two nodes is nobody's: it is not known which of them measured it, and neither is judged by it.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from levelfield.compare.reduction import Reduced
from levelfield.errors import LevelfieldError
from levelfield.fleet import folders, reading
from levelfield.fleet.folders import Place
from levelfield.fleet.judge import judge
from levelfield.fleet.types import Fleet, Node, NodeVerdict
from levelfield.record import page
from levelfield.report import units

"""File beside a record that shows it."""
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

    @property
    def records(self) -> int:
        """How many records are judged."""
        return sum(map(len, self.nodes.values()))


def gather(folder: Path) -> Gathered:
    """Read the records of all nodes under a folder; one that is damaged or hostile is noted and left out.

    Raises LevelfieldError: the folder cannot be read or holds no folder of a node, or the system ended a process that
    reads records.
    """
    found = folders.find(folder)
    answers = list(zip(found.places, reading.read_all(found.places), strict=True))
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
            *(each.reason for _, each in answers if isinstance(each, reading.Unread)),
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
    unread = (Node(name, "", NodeVerdict.UNDECIDED, "undecided", NO_RECORD) for name in silent)
    return msgspec.structs.replace(
        found,
        answer=f"{found.answer} {_of_silent(silent)}".strip(),
        exit_code=found.exit_code or (3 if silent else 0),
        nodes=(*found.nodes, *unread),
        notes=(*found.notes, *gathered.notes),
    )


def _of_silent(nodes: Sequence[str]) -> str:
    if not nodes:
        return ""
    who = nodes[0] if len(nodes) == 1 else units.plural(len(nodes), "node")
    return f"Of {who} no record can be read."


def _without_copies(read: Sequence[_Read]) -> tuple[list[_Read], list[str]]:
    """Return the records that are of one node alone, each once, and sentences about the others."""
    groups = [group for of_id in _by_id(read) for group in _same(of_id)]
    kept: list[_Read] = []
    notes: list[str] = []
    for group in groups:
        nodes = dict.fromkeys(place.node for place, _ in group)
        if len(nodes) == 1:
            kept.append(group[0])
            notes += [f"{place.name} is {group[0][0].name} a second time, and counts once." for place, _ in group[1:]]
        else:
            names = ", ".join(place.name for place, _ in group)
            notes.append(
                f"One run lies under {len(nodes)} nodes and is left out, since it is not known whose: {names}."
            )
    return kept, notes


def _by_id(read: Sequence[_Read]) -> list[list[_Read]]:
    """Collect the records that have one digest or one run id, in their order."""
    digests = Counter(run.facts.sha256 for _, run in read)
    found: dict[str, list[_Read]] = {}
    ids = {run.facts.sha256: run.facts.id for _, run in read if digests[run.facts.sha256] > 1}
    for place, run in read:
        found.setdefault(ids.get(run.facts.sha256, run.facts.id), []).append((place, run))
    return list(found.values())


def _same(of_id: Sequence[_Read]) -> Iterator[list[_Read]]:
    """Split records of one id into those of one run.

    An id has a start in whole seconds and a random part of 16 bits, so that of a thousand nodes that begin at once some
    share one. Two records are of one run where they are the same file, or where a case has the very same costs.
    """
    groups: list[list[_Read]] = []
    for one in of_id:
        group = next((each for each in groups if _is_copy(each[0][1], one[1])), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    yield from groups


def _is_copy(first: Reduced, second: Reduced) -> bool:
    if first.facts.sha256 == second.facts.sha256:
        return True
    return any(
        answer.launch_costs and answer.launch_costs == second.answers[key].launch_costs
        for key, answer in first.answers.items()
        if key in second.answers
    )
