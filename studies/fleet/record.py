"""The record of the simulated fleets, and its tables."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from studies import record
from studies.fleet.draws import Scatter, Tally
from studies.fleet.shapes import Check, Fit
from suite.report.markdown import table
from suite.statistics.proportions import Proportion


class Reach(msgspec.Struct, frozen=True):
    """The smallest slowdown of one node that is found, and how often one of that size was."""

    nodes: int
    cases: int
    runs: int
    node_sd: float
    run_sd: float
    finds: float | None
    """Relative slowdown that is found with a probability of 95 %, by the formula of the verdict. None: none."""
    found: Proportion | None
    """By simulation, of slowdowns of that size."""


class Canary(msgspec.Struct, frozen=True):
    """The same fleets, judged by their levels and by those relative to the canary."""

    shared: float
    """Part of the variance between nodes that all cases have in common."""
    absolute: Tally
    paired: Tally


class Record(record.Record, frozen=True, kw_only=True):
    """What became of simulated fleets."""

    TRIAL: ClassVar = "fleet"

    updated: str
    tool_version: str
    seed: int
    fleets: int
    """Of like nodes in each setting, of other settings a quarter; of large ones fewer."""
    margin: float
    level: float
    fits: tuple[Fit, ...]
    """What the constants of `suite.statistics.tails` come from."""
    tails: tuple[Check, ...]
    alike: tuple[Tally, ...]
    """Nodes that do not differ but by chance."""
    noise: tuple[Scatter, ...]
    one_slow: tuple[Tally, ...]
    several_slow: tuple[Tally, ...]
    finds: tuple[Reach, ...]
    one_case: tuple[Canary, ...]
    """A node that is slow in one case."""
    whole_node: tuple[Canary, ...]
    """A node that is slow in all cases, and so is its canary."""


def percent(found: Proportion) -> str:
    """`0.12 % (0.08–0.17)`.

    Parameters
    ----------
    found : Proportion
        With its exact 95 % interval.
    """
    return f"{100 * found.share:.2f} % ({100 * found.low:.2f}–{100 * found.high:.2f})"


def markdown(found: Record) -> str:
    """Return the tables of a record.

    Parameters
    ----------
    found : Record
        What was simulated.
    """
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Record) -> Iterator[str]:
    yield f"# Simulated fleets, {found.updated[:10]}"
    yield ""
    yield (
        f"Level {100 * found.level:g} % for the whole fleet, margin {100 * found.margin:g} %, seed {found.seed}: "
        f"{found.fleets} fleets of like nodes in each setting, a quarter of the others, fewer of large ones. Shares "
        "have their exact 95 % intervals. Nodes "
        "differ normally; half of the variance between nodes is common to all cases of a node, unless it is said, and "
        "half of that between runs to all cases of a run."
    )
    yield from ("", "## Fleets of like nodes in which any is called slow or fast in any case", "", *_alike(found.alike))
    yield from ("", "## Fleets of like nodes in which any is called noisy in any case", "", *_noise(found.noise))
    yield from ("", "## One node is 10 % slow", "", *_slow(found.one_slow))
    yield from ("", "## Several nodes are slow", "", *_slow(found.several_slow))
    yield from (
        "",
        "## The smallest slowdown of one node that is found with a probability of 95 %",
        "",
        *_finds(found.finds),
    )
    yield from ("", "## A node that is slow in one case of six: absolute levels, and relative to the canary", "")
    yield from _canary(found.one_case)
    yield from ("", "## A node that is slow in all cases, its canary too", "", *_canary(found.whole_node))
    yield from ("", "## Tails: how often a like node is beyond the limit of a level, one-sided", "")
    yield "Of few peers, the last columns rest on a few shapes that are rarely drawn."
    yield from ("", *_tails(found.tails))


def _what(each: Tally) -> list[str]:
    setting = each.setting
    groups = f"{setting.groups} × " if setting.groups > 1 else ""
    spreads = (f"{100 * setting.node_sd:g} %", f"{100 * setting.run_sd:g} %")
    return [f"{groups}{setting.nodes}", str(setting.cases), str(setting.runs), *spreads, setting.noise]


_SETTING = ("nodes:", "cases:", "runs:", "spread of nodes:", "spread of runs:", "noise of runs")


def _alike(tallies: Sequence[Tally]) -> Iterator[str]:
    rows = (
        [*_what(each), f"{100 * each.setting.shared:.0f} %", percent(each.flagged), percent(each.odd)]
        for each in tallies
    )
    return table([*_SETTING, "common to all cases:", "slow or fast:", "an odd run:"], rows)


def _noise(tallies: Sequence[Scatter]) -> Iterator[str]:
    rows = (
        [str(each.nodes), str(each.cases), str(each.runs), str(each.launches), each.noise, percent(each.flagged)]
        for each in tallies
    )
    return table(["nodes:", "cases:", "runs:", "launches:", "noise of launches", "noisy:"], rows)


def _slow(tallies: Sequence[Tally]) -> Iterator[str]:
    rows = (
        [
            *_what(each),
            str(each.setting.slow),
            f"{100 * each.setting.effect:g} %",
            percent(each.found) if each.found is not None else "",
            percent(each.flagged),
        ]
        for each in tallies
    )
    return table([*_SETTING, "slow nodes:", "by:", "found:", "another one flagged:"], rows)


def _finds(reaches: Sequence[Reach]) -> Iterator[str]:
    rows = (
        [
            str(each.nodes),
            str(each.cases),
            str(each.runs),
            f"{100 * each.node_sd:g} %",
            f"{100 * each.run_sd:g} %",
            f"{100 * each.finds:.1f} %" if each.finds is not None else "none",
            percent(each.found) if each.found is not None else "",
        ]
        for each in reaches
    )
    return table(["nodes:", "cases:", "runs:", "spread of nodes:", "spread of runs:", "finds:", "found:"], rows)


def _canary(pairs: Sequence[Canary]) -> Iterator[str]:
    rows = (
        [
            f"{100 * each.shared:.0f} %",
            f"{100 * each.absolute.setting.node_sd:g} %",
            f"{100 * each.absolute.setting.effect:g} %",
            *(percent(one.found) if one.found is not None else "" for one in (each.absolute, each.paired)),
        ]
        for each in pairs
    )
    return table(["common to all cases:", "spread of nodes:", "slow by:", "absolute:", "relative to the canary:"], rows)


def _tails(checks: Sequence[Check]) -> Iterator[str]:
    levels = sorted({each.level for each in checks}, reverse=True)
    peers = sorted({each.peers for each in checks})
    of = {(each.peers, each.level): each.simulated / each.level for each in checks}
    rows = ([str(one), *(f"{of[one, level]:.2f}" for level in levels)] for one in peers)
    return table(["peers:", *(f"simulated over {level:g}:" for level in levels)], rows)
