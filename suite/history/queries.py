"""Queries of the store: which results it holds, their series, and the environment of a run."""

import difflib
import fnmatch
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import select

from suite.errors import LevelfieldError
from suite.history.environment import UNKNOWN, concerns
from suite.history.store import Store
from suite.history.tables import FactRow, GroupRow, ResultRow, RunGroupRow, RunRow
from suite.history.trend import Point, Series

_SHOWN = 10
_CLOSE = 0.6


def results(store: Store) -> list[str]:
    """Return every result id that is in the store, in alphabetical order."""
    with store.reading() as connection:
        return sorted(connection.execute(select(ResultRow.id).distinct()).scalars())


def matching(requested: str, known: Iterable[str]) -> list[str]:
    """Return the result ids that are meant: the exact one, those of a glob, or those that contain the text.

    Parameters
    ----------
    requested
        A result id, a glob (with `*`, `?` or `[`) or a part of an id.
    known
        Result ids of the store.

    Raises
    ------
    LevelfieldError
        There is none; close ones are named.
    """
    names = list(known)
    if requested in names:
        return [requested]
    if re.search(r"[*?\[]", requested):
        found = [name for name in names if fnmatch.fnmatchcase(name, requested)]
    else:
        found = [name for name in names if requested in name]
    if found:
        return found
    if not names:
        raise LevelfieldError(
            "The history holds no runs.", fix="Measure some (`levelfield bench`), or name their folder with --reports."
        )
    close = _close(requested, names)
    shown = close or names
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    listed = f"{', '.join(shown[:_SHOWN])}{more}"
    raise LevelfieldError(
        f"The history has no result like {requested[:80]!r}.",
        fix=f"Did you mean {listed}?" if close else f"Known: {listed}.",
    )


def _close(requested: str, names: list[str]) -> list[str]:
    """Read each word that no result has as the most similar one that some have, and look again."""
    words = sorted({word for name in names for word in name.split("/")})
    meant = []
    for word in filter(None, re.split(r"[/*?\s]+", requested)):
        if any(word in known for known in words):
            meant.append(word)
            continue
        similar = difflib.get_close_matches(word, words, n=1, cutoff=_CLOSE)
        if not similar:
            return []
        meant += similar
    return [name for name in names if meant and all(word in name for word in meant)]


def series(store: Store, names: Iterable[str], *, labelled: bool) -> list[Series]:
    """Return the series of these results, one for each machine and launcher they were measured with; newest last.

    Parameters
    ----------
    store, names
        An open store, and the ids of the results.
    labelled
        Whether runs with a label (smoke, injected, demonstrations) are included.
    """
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    with store.reading() as connection:
        for name in names:
            question = (
                select(*_COLUMNS)
                .join(RunRow, RunRow.number == ResultRow.run)
                .where(ResultRow.id == name)
                .order_by(RunRow.started, RunRow.number)
            )
            rows = connection.execute(question if labelled else question.where(RunRow.labels == ""))
            for row in map(dict, rows.mappings()):
                found.setdefault((name, row["machine"], row["launcher"], row["metric"]), []).append(row)
    # The newest run tells of the whole series: an arm may come to run in another image.
    return [msgspec.convert({**rows[-1], "points": rows}, Series) for rows in found.values()]


_COLUMNS = (
    RunRow.number,
    RunRow.id.label("run"),
    RunRow.started,
    RunRow.labels,
    RunRow.machine,
    RunRow.machine_title,
    RunRow.launcher,
    ResultRow.id.label("result"),
    ResultRow.arm,
    ResultRow.image,
    ResultRow.metric,
    ResultRow.unit,
    ResultRow.standing,
    ResultRow.estimate,
    ResultRow.low,
    ResultRow.high,
)
"""Named as the fields of `Series` and `Point`."""


class Difference(msgspec.Struct, frozen=True):
    """One fact that is not what it was; None: the record lacks it."""

    group: str
    name: str
    before: str | None
    after: str | None


def environment_differences(store: Store, before: Point, after: Point, one: Series) -> list[Difference]:
    """Return what differs between the environments of two runs, as far as it can explain this series.

    Parameters
    ----------
    store
        An open store that holds both runs.
    before, after
        Points of the series, the older one first.
    one
        The series; facts of other arms and other images are left out.

    Returns
    -------
    list of Difference
        By group and name. A fact that is unknown on both sides is no difference.
    """
    old, new = _facts(store, before.number, after.number, one)
    pairs = ((fact, old.get(fact), new.get(fact)) for fact in sorted(old.keys() | new.keys()))
    return [
        Difference(*fact, was, now)
        for fact, was, now in pairs
        if was != now and not (_is_unknown(was) and _is_unknown(now))
    ]


def _is_unknown(value: str | None) -> bool:
    """Return whether a fact is unknown, for whatever reason: it explains nothing."""
    return not value or value.startswith(UNKNOWN)


def _facts(store: Store, before: int, after: int, one: Series) -> tuple[dict[tuple[str, str], str], ...]:
    """Return the facts of two runs, without the groups that are the same in both."""
    question = (
        select(RunGroupRow.run, GroupRow.digest, GroupRow.name)
        .join(GroupRow, GroupRow.digest == RunGroupRow.digest)
        .where(RunGroupRow.run.in_((before, after)))
    )
    with store.reading() as connection:
        held_by: dict[int, dict[str, str]] = {before: {}, after: {}}
        for row in connection.execute(question):
            if concerns(row.name, arm=one.arm, image=one.image):
                held_by[row.run][row.digest] = row.name
        shared = held_by[before].keys() & held_by[after].keys()
        found: list[dict[tuple[str, str], str]] = []
        for held in (held_by[before], held_by[after]):
            own = {digest: name for digest, name in held.items() if digest not in shared}
            rows = connection.execute(
                select(FactRow.digest, FactRow.name, FactRow.value).where(FactRow.digest.in_(own))
            )
            found.append({(own[row.digest], row.name): row.value for row in rows})
    return tuple(found)
