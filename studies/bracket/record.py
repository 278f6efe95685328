"""The record of the simulated upgrades, and its tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

import msgspec

from studies import record
from studies.bracket.draws import Noise, Tally, Trouble
from suite.report.markdown import table
from suite.statistics.proportions import Proportion

WRITTEN = 0.01
"""Spreads of a new stack that are nearer than this are the same."""


class Reach(msgspec.Struct, frozen=True):
    """The smallest slowdown of one case that is found with a probability, or the largest spread at which one is."""

    boots: int
    cases: int
    power: float
    spread: float | None
    """Between boots, log scale. None: not even at the least spread that was tried."""
    effect: float | None
    """Relative slowdown. None: not even the largest that was tried."""


class Record(record.Record, frozen=True, kw_only=True):
    """What became of simulated upgrades."""

    TRIAL: ClassVar = "bracket"

    updated: str
    tool_version: str
    seed: int
    upgrades: int
    """Of each setting; of many cases there are a tenth, where the machine is not honest."""
    margin: float
    level: float
    honest: tuple[Tally, ...]
    drifts: tuple[Tally, ...]
    """Troubles of the machine, and no effect."""
    beside: tuple[Tally, ...]
    """A slowdown beside a larger drift that stays."""
    power: tuple[Tally, ...]
    finds: tuple[Reach, ...]
    """By spread: the smallest slowdown that is found."""
    wants: tuple[Reach, ...]
    """By slowdown: the largest spread at which it is found."""


def worst(tallies: Iterable[Tally], rate: Callable[[Tally], Proportion]) -> Proportion:
    """Return the highest of some rates.

    Parameters
    ----------
    tallies : iterable of Tally
        At least one.
    rate : callable
        Takes a tally.
    """
    return max(map(rate, tallies), key=lambda found: found.share)


def called_slower_or_faster(found: Tally) -> Proportion:
    """Return the more frequent of both."""
    return max(found.slower, found.faster, key=lambda each: each.share)


def markdown(found: Record) -> str:
    """Return the tables of a record.

    Parameters
    ----------
    found : Record
        What was simulated.
    """
    return "\n".join(_lines(found)) + "\n"


def percent(found: Proportion) -> str:
    """`0.12 % (0.08–0.17)`."""
    return f"{100 * found.share:.2f} % ({100 * found.low:.2f}–{100 * found.high:.2f})"


def honest(
    found: Record, boots: int, cases: int, noise: Noise, *, way_back: bool = True, new_spread: float | None = None
) -> list[Tally]:
    """Return the tallies of honest machines, of all spreads; those of a new stack that scatters otherwise on request.

    Parameters
    ----------
    found : Record
        What was simulated.
    boots, cases, noise, way_back
        As in `Setting`.
    new_spread : float or None
        Spread of the new stack over that of the old one, to two digits.
    """
    wanted = new_spread or 1.0
    return [
        each
        for each in found.honest
        if (each.setting.boots, each.setting.cases, each.setting.noise) == (boots, cases, noise)
        and each.setting.way_back == way_back
        and abs(each.setting.new_spread - wanted) < WRITTEN
    ]


def drifts(found: Record, troubles: Sequence[Trouble], boots: int, cases: int, size: float) -> list[Tally]:
    """Return the tallies of machines in trouble, of either noise and all spreads.

    Parameters
    ----------
    found : Record
        What was simulated.
    troubles, boots, cases, size
        As in `Setting`.
    """
    return [
        each
        for each in found.drifts
        if each.setting.trouble in troubles
        and (each.setting.boots, each.setting.cases, each.setting.size) == (boots, cases, size)
    ]


def beside(
    found: Record, boots: int, cases: int, *, most_spread: float = 1.0, least_spread: float = 0.0
) -> list[Tally]:
    """Return the tallies of a slowdown beside a drift, of every drift and of spreads within bounds.

    Parameters
    ----------
    found : Record
        What was simulated.
    boots, cases
        As in `Setting`.
    most_spread, least_spread : float
        Log scale.
    """
    return [
        each
        for each in found.beside
        if (each.setting.boots, each.setting.cases) == (boots, cases)
        and least_spread <= each.setting.spread <= most_spread
    ]


def _lines(found: Record) -> Iterator[str]:
    yield f"# Simulated upgrades, {found.updated[:10]}"
    yield ""
    yield (
        f"Margin {100 * found.margin:g} %, level {100 * found.level:g} %, seed {found.seed}: {found.upgrades} upgrades "
        f"of each setting, {found.upgrades // 10} of many cases where the machine is not honest. Half of the variance "
        "between boots is common to all cases. Of spreads between boots, kinds of noise and places of a trouble that "
        "share a row, the one with the highest rate is shown, with its exact 95 % interval: a maximum over many, so "
        "somewhat too high."
    )
    yield from ("", "## An honest machine", "", *_honest(found))
    yield from ("", "## A machine in trouble, and no effect", "", *_drifts(found))
    yield from ("", "## A slowdown of 3 % beside a drift of 5 % that stays", "", *_beside(found))
    yield from ("", "## The smallest slowdown of one case that is found", "", *_finds(found))
    yield from ("", "## The largest spread at which 3 % of one case is found", "", *_wants(found))
    yield from ("", "## Power, by the true slowdown of one case", "", *_power(found))


def _honest(found: Record) -> Iterator[str]:
    kinds = {
        (each.setting.boots, each.setting.cases, each.setting.noise, each.setting.new_spread, each.setting.way_back)
        for each in found.honest
    }
    rows = []
    for boots, cases, noise, new_spread, way_back in sorted(kinds):
        chosen = honest(found, boots, cases, noise, way_back=way_back, new_spread=new_spread)
        stack = f"{noise}, spread of the new stack × {new_spread:.2g}"
        rates = (
            worst(chosen, lambda each: each.slower_or_drifted),
            worst(chosen, lambda each: each.slower),
            worst(chosen, lambda each: each.drifted),
        )
        rows.append([str(boots), str(cases), stack, "yes" if way_back else "no", *map(percent, rates)])
    return table(["boots", "cases", "noise", "way back", "slower or drifted", "slower", "drifted"], rows)


def _drifts(found: Record) -> Iterator[str]:
    kinds = dict.fromkeys(
        (each.setting.trouble, each.setting.size, each.setting.boots, each.setting.cases) for each in found.drifts
    )
    rows = []
    for trouble, size, boots, cases in kinds:
        chosen = drifts(found, (trouble,), boots, cases, size)
        rates = (worst(chosen, called_slower_or_faster), worst(chosen, lambda each: each.drifted))
        rows.append([trouble, f"{100 * size:g} %", str(boots), str(cases), *map(percent, rates)])
    return table(["what", "size", "boots", "cases", "slower, or faster", "drifted"], rows)


def _beside(found: Record) -> Iterator[str]:
    spreads = sorted({each.setting.spread for each in found.beside})
    kinds = dict.fromkeys((each.setting.boots, each.setting.cases) for each in found.beside)
    rows = [
        [
            str(boots),
            str(cases),
            *(
                percent(worst(beside(found, boots, cases, most_spread=each, least_spread=each), lambda one: one.slower))
                for each in spreads
            ),
        ]
        for boots, cases in kinds
    ]
    return table(["boots", "cases", *(f"called slower, spread {100 * each:.2g} %" for each in spreads)], rows)


def _reach(share: float | None) -> str:
    return "out of reach" if share is None else f"{100 * share:.3g} %"


def _finds(found: Record) -> Iterator[str]:
    kinds = dict.fromkeys((each.boots, each.power) for each in found.finds)
    spreads = dict.fromkeys(each.spread for each in found.finds)
    by = {(each.boots, each.power, each.spread): each.effect for each in found.finds}
    headings = ["spread between boots", *(f"{boots} boots, in {100 * power:.0f} %" for boots, power in kinds)]
    return table(headings, [[_reach(each), *(_reach(by[*kind, each]) for kind in kinds)] for each in spreads])


def _wants(found: Record) -> Iterator[str]:
    rows = [
        [str(each.boots), str(each.cases), _reach(each.effect), f"{100 * each.power:.0f} %", _reach(each.spread)]
        for each in found.wants
    ]
    return table(["boots", "cases", "slowdown", "found in", "spread at most"], rows)


def _power(found: Record) -> Iterator[str]:
    rows = [
        [
            str(each.setting.boots),
            str(each.setting.cases),
            f"{100 * each.setting.spread:.2g} %",
            f"{100 * each.setting.effect:.0f} %",
            percent(each.slower),
        ]
        for each in found.power
    ]
    return table(["boots", "cases", "spread", "slowdown", "called slower"], rows)
