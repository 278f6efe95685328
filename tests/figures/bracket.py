"""Figures of docs/upgrade-statistics.md, and of docs/upgrade.md: what simulated upgrades were called."""

from collections.abc import Iterable, Sequence
from functools import cache, partial

from studies.bracket.draws import BAD_BOOTS, STEPS, Noise, Tally, Trouble
from studies.bracket.record import Reach, Record, beside, called_slower_or_faster, drifts, honest, worst
from studies.bracket.simulate import BOOTS, MANY, SPREADS_OF_CURVE, WANTED
from studies.record import read
from suite.statistics.bracketing import DRIFT_SHARE, LEAST_BOOTS
from suite.statistics.proportions import Proportion
from suite.upgrade.readings import SHARE
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE, SUMMARY = "docs/upgrade-statistics.md", "docs/upgrade.md"
TROUBLES: Sequence[tuple[str, Sequence[Trouble], float]] = (
    ("a step that stays", STEPS, 0.01),
    ("a step that stays", STEPS, 0.02),
    ("a step that stays", STEPS, 0.05),
    ("a ramp", (Trouble.RAMP,), 0.05),
    ("one bad boot", BAD_BOOTS, 0.03),
    ("one bad boot", BAD_BOOTS, 0.5),
)
QUIET = 0.01
"""Spread up to which the drift is told from the slowdown."""


@cache
def _record() -> Record:
    return read(TRIALS / "bracket-2026-11-25.json", Record)


def percent(share: float, digits: int = 2) -> str:
    return f"{100 * share:.{digits}f}"


def _rate(found: Proportion) -> list[str]:
    return [percent(found.share), percent(found.low), percent(found.high)]


def _honest(boots: int) -> list[object]:
    found: list[object] = [boots]
    for cases in (1, MANY):
        chosen = [each for noise in Noise for each in honest(_record(), boots, cases, noise)]
        found += _rate(worst(chosen, lambda each: each.slower_or_drifted))
    return found


def _scattered(new_spread: float) -> list[str]:
    chosen = [each for boots in BOOTS for each in honest(_record(), boots, 1, Noise.NORMAL, new_spread=new_spread)]
    return [percent(worst(chosen, rate).share) for rate in (lambda each: each.slower, lambda each: each.drifted)]


def _one_way() -> list[str]:
    chosen = [
        each
        for boots in BOOTS
        for cases in (1, MANY)
        for each in honest(_record(), boots, cases, Noise.NORMAL, way_back=False)
    ]
    return [percent(worst(chosen, lambda each: each.slower).share)]


def _trouble(troubles: Sequence[Trouble], size: float) -> list[str]:
    found = [f"{100 * size:g}"]
    for boots in BOOTS:
        chosen = [each for cases in (1, MANY) for each in drifts(_record(), troubles, boots, cases, size)]
        found += _rate(worst(chosen, called_slower_or_faster))
    return found


def _slower(tallies: Iterable[Tally]) -> Proportion:
    return worst(tallies, lambda each: each.slower)


def _beside_quiet() -> list[object]:
    chosen = [each for boots in BOOTS for each in beside(_record(), boots, 1, most_spread=QUIET)]
    count = sum(each.slower.successes for each in chosen)
    return [count, sum(each.slower.trials for each in chosen), f"{100 * QUIET:g}"]


def _beside() -> list[str]:
    chosen = [each for boots in BOOTS for cases in (1, MANY) for each in beside(_record(), boots, cases)]
    found = _slower(chosen)
    return [*_rate(found), *(f"{100 * each.setting.spread:g}" for each in chosen if each.slower == found)][:4]


def _effect(reach: Reach) -> str:
    assert reach.effect is not None
    return f"{100 * reach.effect:.2g}" if reach.effect < 0.1 else f"{100 * reach.effect:.0f}"


def _curve(spread: float) -> list[str]:
    by = {(each.boots, each.power): each for each in _record().finds if each.spread == spread}
    return [f"{100 * spread:g}", *(_effect(by[boots, power]) for power in (0.8, 0.9) for boots in BOOTS)]


def _wants(cases: int) -> list[object]:
    by = {(each.boots, each.power): each for each in _record().wants if each.cases == cases}
    return [cases, *(_most(by[boots, power]) for power in (0.8, 0.9) for boots in BOOTS)]


def _most(reach: Reach) -> str:
    assert reach.spread is not None
    return percent(reach.spread)


def _statement() -> list[object]:
    by = {(each.boots, each.cases, each.power): each for each in _record().wants}
    five, three = (percent(by[boots, 1, 0.8].spread or 0, 1) for boots in (5, 3))
    return [f"{100 * WANTED:g}", five, three]


FIGURES = [
    Figure(SUMMARY, "At most {} % of upgrades of an honest machine", lambda: [f"{100 * _record().level:g}"]),
    Figure(
        SUMMARY,
        "a slowdown of {} % wants five boots a phase and a spread between boots of {} % at most",
        lambda: _statement()[:2],
    ),
    Figure(PAGE, "at most {} % of upgrades of an honest machine", lambda: [f"{100 * _record().level:g}"]),
    Figure(PAGE, "Three quarters ({} %) of that belong", lambda: [f"{100 * DRIFT_SHARE:g}"]),
    Figure(PAGE, "fewer than {} boots", lambda: [LEAST_BOOTS]),
    Figure(PAGE, "they have a quarter ({} %) of the level and the cases the rest", lambda: [f"{100 * SHARE:g}"]),
    Figure(
        PAGE,
        "simulates {} upgrades in each setting, and {} of those of {} cases where the machine is not honest",
        lambda: [_record().upgrades, _record().upgrades // 10, MANY],
    ),
    *(Figure(PAGE, "| {} | {} % ({}–{}) | {} % ({}–{}) |", partial(_honest, boots)) for boots in (2, *BOOTS)),
    Figure(PAGE, "a third as much, {} % are called *slower* and {} % *drifted*", partial(_scattered, 1 / 3)),
    Figure(PAGE, "threefold, {} % and {} %", partial(_scattered, 3.0)),
    Figure(PAGE, "without a way back, {} % are called *slower*", _one_way),
    *(
        Figure(
            PAGE, f"| {words} of {{}} % | {{}} % ({{}}–{{}}) | {{}} % ({{}}–{{}}) |", partial(_trouble, troubles, size)
        )
        for words, troubles, size in TROUBLES
    ),
    Figure(PAGE, "called *slower* in {} of {} upgrades of one case where boots scatter by {} % or less", _beside_quiet),
    Figure(PAGE, "at most in {} % ({}–{}), at a spread of {} %", _beside),
    Figure(
        PAGE, "A slowdown of {} % wants a spread of at most {} % with five boots, and of {} % with three", _statement
    ),
    *(Figure(PAGE, "| {} % | {} % | {} % | {} % | {} % |", partial(_curve, spread)) for spread in SPREADS_OF_CURVE),
    *(Figure(PAGE, "| {} cases | {} % | {} % | {} % | {} % |", partial(_wants, cases)) for cases in (5, MANY)),
    Figure(PAGE, "| {} case | {} % | {} % | {} % | {} % |", partial(_wants, 1)),
]
