"""Machines side by side: the newest run of each case on each, and which of their rankings agree.

Two machines disagree on two arms where each ranks both, and in opposite order. Arms of one rank are not told apart, so
they contradict nothing. Ranks hold for all pairs of a block at once (`statistics.ranking`).
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.names import plural
from levelfield.report import overview
from levelfield.report.overview import Cell
from levelfield.share.runs import Entry, Ranks

Ranking: TypeAlias = Literal["", "agrees", "differs", "not decided"]


class Place(msgspec.Struct, frozen=True):
    run: Entry
    cells: tuple[Cell | None, ...]
    """One for each arm; None: it was not ranked here."""
    ranking: Ranking = ""
    """Beside that of the first machine; empty for itself."""
    says: str = ""
    """How many pairs of arms both tell apart, or which they order otherwise."""


class Shared(msgspec.Struct, frozen=True):
    """One case that several machines answered."""

    column: overview.Column
    arms: tuple[tuple[str, str], ...]
    """Name and backend of those that two machines or more have."""
    places: tuple[Place, ...]

    @property
    def agrees(self) -> bool:
        """Whether every ranking is known to agree with that of the first machine."""
        return {place.ranking for place in self.places[1:]} == {"agrees"}

    @property
    def undecided(self) -> bool:
        found = {place.ranking for place in self.places}
        return "not decided" in found and "differs" not in found


def newest(runs: Iterable[Entry]) -> Iterator[Entry]:
    """Yield, of ranked runs from the newest on, those with a case that no newer one of their machine has."""
    seen: set[tuple[str, str]] = set()
    for one in runs:
        cases = {(one.machine, case) for case in one.matrix.ranks if not one.labels}
        if not cases <= seen:
            yield one
        seen |= cases


def shared(runs: Sequence[Entry]) -> tuple[Shared, ...]:
    """Return every case that two machines or more answered with two arms or more in common."""
    columns = {column.case.id: column for one in reversed(runs) for column in one.matrix.columns}
    found = (_shared(columns[case], _of_each_machine(case, runs)) for case in columns)
    return tuple(one for one in found if one is not None)


def _of_each_machine(case: str, runs: Sequence[Entry]) -> list[Entry]:
    by_machine = {one.machine: one for one in reversed(runs) if case in one.matrix.ranks}
    return [one for one in runs if by_machine.get(one.machine) is one]


def _shared(column: overview.Column, runs: Sequence[Entry]) -> Shared | None:
    case = column.case.id
    lines = [{line.arm: line for line in one.matrix.lines if line.arm in one.matrix.ranks[case]} for one in runs]
    counted = Counter(arm for of in lines for arm in of)
    arms = {arm: line.backend for of in lines for arm, line in of.items() if counted[arm] > 1}
    if len(arms) < 2:
        return None
    places: list[Place] = []
    for one, of in zip(runs, lines, strict=True):
        at = [each.case.id for each in one.matrix.columns].index(case)
        cells = tuple(of[arm].cells[at] if arm in of else None for arm in arms)
        said = _beside(runs[0].matrix.ranks[case], one.matrix.ranks[case], arms) if places else ("", "")
        places.append(Place(one, cells, *said))
    return Shared(column, tuple(arms.items()), tuple(places))


def _beside(first: Ranks, other: Ranks, arms: Iterable[str]) -> tuple[Ranking, str]:
    """Compare a ranking with the first one, pair by pair of the arms that both rank apart."""
    common = [arm for arm in arms if arm in first and arm in other]
    apart = [
        sorted(pair, key=lambda arm: other[arm])
        for pair in itertools.combinations(common, 2)
        if first[pair[0]] != first[pair[1]] and other[pair[0]] != other[pair[1]]
    ]
    against = [(ahead, behind) for ahead, behind in apart if first[ahead] > first[behind]]
    if against:
        ahead, behind = max(against, key=lambda pair: first[pair[0]] - first[pair[1]] + other[pair[1]] - other[pair[0]])
        more = f", and {plural(len(against) - 1, 'more pair')}" if len(against) > 1 else ""
        return "differs", f"{ahead} before {behind}{more}"
    return ("agrees", f"{plural(len(apart), 'pair')} in the same order") if apart else ("not decided", "")
