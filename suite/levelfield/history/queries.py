"""Queries of summaries: which results they hold, their series, and what differs between the environments of runs."""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.history.environment import UNKNOWN, concerns
from levelfield.history.summary import Result, Summary
from levelfield.history.trend import Point, Series

Runs: TypeAlias = Mapping[str, Summary]
"""Runs by their ids, in order of time."""
_SHOWN = 10
_CLOSE = 0.6


def in_order(summaries: Iterable[Summary]) -> Runs:
    """Return runs in order of time."""
    return {one.id: one for one in sorted(summaries, key=lambda one: (one.started, one.id))}


def results(runs: Runs) -> list[str]:
    """Return every result id of the runs, in alphabetical order."""
    return sorted({result.id for run in runs.values() for result in run.results})


def matching(requested: str, known: Iterable[str]) -> list[str]:
    """Return the result ids that are meant: the exact one, those of a glob, or those that contain the text.

    Raises LevelfieldError: there is none; close ones are named.
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


def series(runs: Runs, names: Iterable[str], *, labelled: bool) -> list[Series]:
    """Return the series of these results, one for each machine and launcher they were measured with; newest last."""
    found: dict[tuple[str, ...], list[tuple[Summary, Result]]] = {}
    included = [run for run in runs.values() if labelled or not run.labels]
    answers = [(run, {result.id: result for result in run.results}) for run in included]
    for name in names:
        for run, results_of in answers:
            if (result := results_of.get(name)) is not None:
                found.setdefault((name, run.machine, run.launcher, result.metric), []).append((run, result))
    return [_series(measured) for measured in found.values()]


def _series(measured: list[tuple[Summary, Result]]) -> Series:
    run, result = measured[-1]  # the newest run tells of the whole series: an arm may come to run in another image
    return Series(
        result=result.id,
        arm=result.arm,
        image=result.image,
        metric=result.metric,
        unit=result.unit,
        machine=run.machine,
        machine_title=run.machine_title,
        launcher=run.launcher,
        points=tuple(
            Point(one.id, one.started, of.standing, ",".join(one.labels), of.estimate, of.low, of.high)
            for one, of in measured
        ),
    )


class Difference(msgspec.Struct, frozen=True):
    """One fact that is not what it was; None: the record lacks it."""

    group: str
    name: str
    before: str | None
    after: str | None


def environment_differences(runs: Runs, before: Point, after: Point, one: Series) -> list[Difference]:
    """Return what differs between the environments of two runs, as far as it can explain this series."""
    old, new = (_facts(runs[point.run], one) for point in (before, after))
    pairs = ((fact, old.get(fact), new.get(fact)) for fact in sorted(old.keys() | new.keys()))
    return [
        Difference(*fact, was, now)
        for fact, was, now in pairs
        if was != now and not (_is_unknown(was) and _is_unknown(now))
    ]


def _is_unknown(value: str | None) -> bool:
    """Return whether a fact is unknown, for whatever reason: it explains nothing."""
    return not value or value.startswith(UNKNOWN)


def _facts(run: Summary, one: Series) -> dict[tuple[str, str], str]:
    groups = {name: facts for name, facts in run.environment.items() if concerns(name, arm=one.arm, image=one.image)}
    return {(group, name): value for group, facts in groups.items() for name, value in facts.items()}
