"""A page that sets any two runs of the site beside each other, in the reader's browser.

It holds the estimates of every run, and draws a table of those that the reader chooses. One run a side is one
replicate: the table shows ratios, and judges none. Pairs that were compared in full have a link to their page.
"""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.analysis.summary import Summary

MOST_ESTIMATES = 200_000
"""Estimates that the page holds, about 8 MB; runs beyond it are left out, the oldest first."""
_DIGITS = 5
"""Significant digits of an estimate."""


class Chosen(msgspec.Struct, frozen=True):
    """One run as the page holds it."""

    id: str
    started: str
    machine: str
    launcher: str
    labels: tuple[str, ...]
    results: dict[str, tuple[float | None, ...]]
    """By result id: index of the unit in `Data.units`, estimate, low, high."""


class Data(msgspec.Struct, frozen=True):
    """What the page's script reads."""

    units: tuple[str, ...]
    runs: tuple[Chosen, ...]
    """Newest first."""
    pages: dict[str, str]
    """By `old--new`: the page of a pair that was compared in full."""
    left_out: int


def data(summaries: Sequence[Summary], machines: Mapping[str, str], pages: Mapping[tuple[str, str], str]) -> Data:
    """Return what the page holds."""
    units = tuple(dict.fromkeys(result.unit for one in summaries for result in one.results))
    runs: list[Chosen] = []
    held = 0
    newest = sorted(summaries, key=lambda one: (one.started, one.id), reverse=True)
    for one in newest:
        results = {
            result.id: (float(units.index(result.unit)), *map(_short, (result.estimate, result.low, result.high)))
            for result in one.results
            if result.estimate is not None
        }
        held += len(results)
        if held > MOST_ESTIMATES:
            break
        title = machines.get(one.machine, one.machine_title)
        runs.append(Chosen(one.id, one.started[:16], title, one.launcher, one.labels, results))
    links = {f"{old}--{new}": page for (old, new), page in pages.items()}
    return Data(units, tuple(runs), links, len(newest) - len(runs))


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
