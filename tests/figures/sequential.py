"""Figures of the rule that ends `ab`: replayed on published streams, and simulated from their variance."""

import math
from functools import cache, partial

import numpy as np

from studies.record import read
from studies.regressions.record import Record, summary
from studies.rigor import rules
from studies.rigor.sequential import BUDGETS, draw_levels, verdicts
from studies.rigor.sequential_record import Counted, Noise, Replay, Sequential, Simulation, Windows
from suite.statistics.ending import EndedBy
from suite.statistics.proportions import Proportion
from suite.statistics.student import FIRST_LOOK, half_width, two_sided_p
from tests.figures import prints
from tests.figures.checking import Figure
from tests.figures.records import QUIET, TRIALS
from tests.figures.regressions import outcome

ERRORS, METHOD = "docs/error-rates.md", "docs/method.md"
SHORTEST = 6
QUIET_SOURCE = f"{QUIET}, onnxruntime"
LEVEL = rules.newest()[1].judge.ab_false_discovery_rate
_DRAWS = 100_000


@cache
def record() -> Sequential:
    return read(TRIALS / "sequential-2026-11-24.json", Sequential)


def replay(source: str, budget: int | None) -> Replay:
    (found,) = [each for each in record().replays if (each.source, each.budget_generations) == (source, budget)]
    return found


def simulations(windows: Windows) -> list[Simulation]:
    return [each for each in record().simulations if each.windows is windows]


def _simulated(source: str, windows: Windows, noise: Noise) -> Simulation:
    (found,) = [each for each in simulations(windows) if (each.source, each.noise) == (source, noise)]
    return found


def counted(found: Replay | Simulation, effect: float) -> Counted:
    return next(each for each in found.counted if each.tally.effect == effect)


def _different(found: Replay) -> Proportion:
    wanted = counted(found, 0.0).tally.wanted
    assert wanted is not None
    return wanted


def _replayed(source: str, budget: int | None) -> list[object]:
    different = _different(replay(source, budget))
    return [prints.of(different), prints.share(different)]


def _bound(source: str, budget: int | None) -> list[object]:
    different = _different(replay(source, budget))
    return [prints.of(different), f"{100 * different.high:.1f}"]


def _same(source: str) -> list[object]:
    same = counted(replay(source, None), 0.0).same
    assert same is not None
    return [prints.of(same), prints.share(same)]


def _found(source: str, effect: float) -> list[object]:
    found = counted(replay(source, None), effect)
    assert found.tally.wanted is not None
    return [prints.of(found.tally.wanted), prints.share(found.tally.wanted), _seconds(found)]


def _seconds(found: Counted) -> str:
    assert found.seconds is not None
    return f"{found.seconds:.0f}"


def _percent(share: float, decimals: int = 2) -> str:
    return f"{100 * share:.{decimals}f}"


def _worst() -> list[object]:
    """Return the largest share that a simulation calls different."""
    return [_simulated_alarms()[3]]


def _simulated_alarms() -> list[object]:
    """Return the least and the most of the shares called different, over all simulations, and the highest bound."""
    shares = [wanted for each in record().simulations if (wanted := counted(each, 0.0).tally.wanted) is not None]
    assert len(shares) == len(record().simulations)
    highest = max(each.high for each in shares)
    assert highest <= LEVEL
    return [
        f"{shares[0].trials:,}".replace(",", " "),
        len(shares),
        _percent(min(each.share for each in shares)),
        _percent(max(each.share for each in shares)),
        _percent(highest),
    ]


ALARM = "same-conv-depthwise-1.22"
"""The only pair without a change that `ab` called different."""
_LATE = 30
_INSIDE = 0.01
"""A true difference that the class of that pair allows."""


@cache
def _alarm() -> tuple[int, float, float]:
    """Return the launches of the run that raised the false alarm, its spread of a generation, and its p value."""
    found = outcome(ALARM)
    assert found.low is not None
    assert found.high is not None
    assert found.ratio is not None
    assert found.launches is not None
    assert found.confidence is not None
    half = math.log(found.high / found.low) / 2
    unit = half_width(1.0, found.launches, confidence=found.confidence, ended=EndedBy.VERDICT)
    spread = half / unit
    error = spread / math.sqrt(found.launches)
    return found.launches, spread, two_sided_p(math.log(found.ratio), error, found.launches, ended=EndedBy.VERDICT)


def _alarm_explained() -> list[object]:
    launches, spread, p_value = _alarm()
    looks = launches - FIRST_LOOK + 1
    found: list[object] = [looks, launches, f"{p_value:.4f}", LEVEL, f"{100 * spread:.1f}"]
    for effect in (0.0, _INSIDE):
        ever, late = _called_different(effect)
        found += [*([round(100 * effect)] if effect else []), _percent(ever), _LATE, _percent(late)]
    return found


@cache
def _called_different(effect: float) -> tuple[float, float]:
    """Return the share of runs with the spread of that one that end as different, and as different after `_LATE`."""
    launches, spread, _ = _alarm()
    draw = np.random.default_rng(20261124)
    levels = np.zeros((_DRAWS, launches, 2))
    levels[:, :, 1] = math.log1p(effect) + spread * draw.standard_normal((_DRAWS, launches))
    last, answers = verdicts(levels, rules.newest()[1])
    different = np.isin(answers, ("slower", "faster"))
    return float(different.mean()), float((different & (last >= _LATE)).mean())


def _family() -> list[object]:
    """Return how likely a false alarm is among the frozen pairs without a change, in percent, and their number."""
    alarms = summary(read(TRIALS / "regressions-2026-11-24.json", Record).outcomes).false_alarms
    assert alarms is not None
    return [f"{100 * (1 - (1 - LEVEL) ** alarms.trials):.0f}", alarms.trials]


def _row(budget: int | None) -> list[object]:
    cells = [cell for source in ("all", "quiet", "busy") for cell in _replayed(source, budget)]
    return cells if budget is None else [budget, *cells]


def _quiet_stream() -> list[object]:
    """Return what becomes of the decisions of the quiet stream of one framework, by effect."""
    found = [*_same(QUIET_SOURCE), _seconds(counted(replay(QUIET_SOURCE, None), 0.0))]
    for effect in (0.02, 0.05, 0.10):
        found += [round(100 * effect), *_found(QUIET_SOURCE, effect)]
    return found


def _busy_streams() -> list[object]:
    found = _same("busy")
    for effect in (0.02, 0.05, 0.10):
        found += [round(100 * effect), *_found("busy", effect)]
    return found


def _autocorrelations() -> list[object]:
    found = [each.autocorrelation for each in record().sources]
    assert all(abs(each.autocorrelation) < each.autocorrelation_reach for each in record().sources)
    return [f"{bound:+.2f}".replace("-", "−") for bound in (min(found), max(found))]


def _found_quiet(effect: float) -> list[object]:
    """Return what is found in the quiet stream, and the power with the variance of its counted windows, by noise."""
    each = [counted(_simulated(QUIET_SOURCE, Windows.COUNTED, noise), effect) for noise in Noise]
    shares = sorted(_percent(one.tally.slower / one.tally.decisions, 1) for one in each)
    longest = max(each, key=lambda one: one.seconds or 0.0)
    return [round(100 * effect), *_found(QUIET_SOURCE, effect), *shares, _seconds(longest)]


def _spread_of_pairs() -> list[object]:
    """Return how much a generation's ratio varies in the quiet stream, and simulated with its variance, in percent."""
    (source,) = [each for each in record().sources if each.name == QUIET_SOURCE]
    (spread,) = [each for each in source.spreads if each.windows is Windows.COUNTED]
    found = [source.pair_sd]
    for noise in (Noise.NORMAL, Noise.HEAVY):
        levels = draw_levels(np.random.default_rng(1), spread, noise, source.rounds, source.generations, 200)
        found.append(float((levels[:, :, 1] - levels[:, :, 0]).std()))
    return [_percent(each, 1) for each in found]


def _found_busy() -> list[object]:
    assert not counted(replay("busy", None), 0.05).wrong_after
    return [5, *_found("busy", 0.05)]


def _in_readme() -> list[object]:
    short, whole = (_replayed("all", budget) for budget in (SHORTEST, None))
    return [short[0], SHORTEST, short[1], *whole, *_worst()]


_CELLS = "| {} ({} %) | {} ({} %) | {} ({} %) |"
FIGURES = [
    *(
        Figure(METHOD, "| at most {} generations " + _CELLS, partial(_row, budget))
        for budget in sorted(each for each in BUDGETS if each is not None)
    ),
    Figure(METHOD, "| the default budget " + _CELLS, partial(_row, None)),
    Figure(METHOD, "lie within their intervals around zero, from {} to {}.", _autocorrelations),
    Figure(
        METHOD,
        "the same in {} decisions ({} %), in {} s each. It finds +{} % in {} ({} %), in {} s; +{} % in {} ({} %), in "
        "{} s; and +{} % in {} ({} %), in {} s. Busy,",
        _quiet_stream,
    ),
    Figure(
        METHOD,
        "Busy, it calls {} ({} %) the same, and finds +{} % in {} ({} %), in {} s, +{} % in {} ({} %), in {} s, and "
        "+{} % in {} ({} %), in {} s.",
        _busy_streams,
    ),
    Figure(
        METHOD,
        "Simulated {} times each for {} combinations of source and noise, the rule calls {} to {} % of identical arms "
        "different; the upper bound of the worst is {} %",
        _simulated_alarms,
    ),
    Figure(
        METHOD,
        "ended at its {}th interim analysis, after {} launches, with a corrected p value of {} where {} is needed",
        lambda: _alarm_explained()[:4],
    ),
    Figure(METHOD, "in up to {} % of lists of {} pairs", _family),
    Figure(
        METHOD,
        "the spread of that run ({} % of a generation's ratio), identical arms are called different in {} % of runs, "
        "and after {} launches or more in {} %. Arms that differ by {} %, which the class allows, are called "
        "different in {} %, and after {} launches or more in {} %.",
        lambda: _alarm_explained()[4:],
    ),
    Figure(
        METHOD,
        "on streams, two frameworks, at most {} generations | called different: {} ({} %) | at most",
        lambda: [SHORTEST, *_replayed("all", SHORTEST)],
    ),
    Figure(METHOD, "on streams, {} leaves up to {} % possible", lambda: _bound("all", SHORTEST)),
    Figure(
        METHOD,
        "on a quiet stream, default budget | called the same: {} ({} %), {} s | at least",
        lambda: _quiet_stream()[:3],
    ),
    Figure(METHOD, "on busy streams, default budget | called the same: {} ({} %) | at least", lambda: _same("busy")),
    Figure(METHOD, "identical arms, simulated | called different: at most {} % |", _worst),
    *(
        Figure(
            METHOD,
            "| on the quiet stream, {} % | {} found ({} %), {} s; simulated {} to {} %, {} s |",
            partial(_found_quiet, effect),
        )
        for effect in (0.10, 0.05, 0.02)
    ),
    Figure(
        METHOD,
        "a generation's ratio varies by {} % there, where noise of the same variance between windows makes it {} % "
        "(normal) or {} % (heavy-tailed)",
        _spread_of_pairs,
    ),
    Figure(METHOD, "| on busy streams, {} % | {} found ({} %), {} s, none called faster", _found_busy),
    Figure(
        ERRORS,
        "different in {} decisions of at most {} generations ({} %) and in {} with the default budget ({} %); "
        "simulated, in at most {} %",
        _in_readme,
    ),
]
