"""What is simulated: error rates of many settings, and what boots can find."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from studies.bracket.draws import BAD_BOOTS, STEPS, Noise, Setting, Tally, Trouble, draw, phases, tally
from studies.bracket.record import Reach, Record
from suite.schedule.outcomes import utc_now
from suite.statistics.bracketing import Verdict, bracket, judged, levels
from suite.version import __version__

MARGIN, LEVEL = 0.02, 0.01
BOOTS = (3, 5)
MANY = 40
"""Cases of an upgrade, beside one."""
SPREADS = (0.002, 0.005, 0.01, 0.015, 0.02, 0.03)
SPREADS_OF_DRIFTS = (0.005, 0.01, 0.02)
SPREADS_OF_CURVE = (0.002, 0.004, 0.006, 0.008, 0.01, 0.012, 0.015, 0.02, 0.03)
EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.1)
POWERS = (0.8, 0.9)
WANTED = 0.03
"""Slowdown whose spread is looked for, and that stands beside a drift."""
MOST_EFFECT, MOST_SPREAD = 1.0, 0.1
"""Where the search for a power ends."""
_HALVINGS = 12


def simulate(upgrades: int, seed: int, say: Callable[[str], None]) -> Record:
    """Simulate everything.

    Parameters
    ----------
    upgrades : int
        Of each setting; of many cases a tenth, where the machine is not honest.
    seed : int
        Of the draws.
    say : callable
        Prints a line.
    """

    def tallies(title: str, settings: Iterator[Setting], *, fewer_of_many: int = 10) -> tuple[Tally, ...]:
        say(title)
        many = upgrades // fewer_of_many
        return tuple(
            tally(each, upgrades if each.cases == 1 else many, seed + number, margin=MARGIN, level=LEVEL)
            for number, each in enumerate(settings)
        )

    honest = tallies("Honest machines", _honest(), fewer_of_many=1)
    drifts = tallies("Machines in trouble", _drifts())
    beside = tallies("A slowdown beside a drift", _beside())
    power = tallies("Power", _power())
    say("What is found")
    return Record(
        schema=Record.SCHEMA,
        updated=utc_now(),
        tool_version=__version__,
        seed=seed,
        upgrades=upgrades,
        margin=MARGIN,
        level=LEVEL,
        honest=honest,
        drifts=drifts,
        beside=beside,
        power=power,
        finds=tuple(_finds(max(upgrades // 10, 1), seed)),
        wants=tuple(_wants(max(upgrades // 10, 1), seed)),
    )


def _honest() -> Iterator[Setting]:
    for boots, cases, noise, spread in itertools.product((2, *BOOTS), (1, MANY), Noise, SPREADS):
        yield Setting(boots, cases, spread, noise)
    for boots, ratio, spread in itertools.product(BOOTS, (1 / 3, 3.0), SPREADS):
        yield Setting(boots, 1, spread, new_spread=ratio)
    for boots, cases, spread in itertools.product(BOOTS, (1, MANY), SPREADS):
        yield Setting(boots, cases, spread, way_back=False)


def _drifts() -> Iterator[Setting]:
    lasting = itertools.product((*STEPS, Trouble.RAMP), (0.01, 0.02, 0.05))
    bad = itertools.product(BAD_BOOTS, (0.03, 0.1, 0.5))
    for trouble, size in itertools.chain(lasting, bad):
        for boots, cases, noise, spread in itertools.product(BOOTS, (1, MANY), Noise, SPREADS_OF_DRIFTS):
            yield Setting(boots, cases, spread, noise, trouble, size)


def _beside() -> Iterator[Setting]:
    troubles = (Trouble.STEP_BEFORE_NEW, Trouble.STEP_WITHIN_NEW, Trouble.STEP_AFTER_NEW, Trouble.RAMP)
    for boots, cases, trouble, size, spread in itertools.product(BOOTS, (1, MANY), troubles, (0.05, -0.05), SPREADS):
        yield Setting(boots, cases, spread, trouble=trouble, size=size, effect=WANTED, changed=cases)


def _power() -> Iterator[Setting]:
    for boots, cases, spread, effect in itertools.product(BOOTS, (1, MANY), SPREADS, EFFECTS):
        yield Setting(boots, cases, spread, effect=effect)


def _finds(upgrades: int, seed: int) -> Iterator[Reach]:
    for boots in BOOTS:
        found = Found(boots, 1, upgrades, seed)
        for spread, power in itertools.product(SPREADS_OF_CURVE, POWERS):
            yield Reach(boots, 1, power, spread, found.least_effect(spread, power))


def _wants(upgrades: int, seed: int) -> Iterator[Reach]:
    for boots, cases in itertools.product(BOOTS, (1, 5, MANY)):
        found = Found(boots, cases, upgrades, seed)
        for power in POWERS:
            yield Reach(boots, cases, power, found.most_spread(WANTED, power), WANTED)


class Found:
    """How often a slowdown of one case is found, with the same draws whatever is asked."""

    def __init__(self, boots: int, cases: int, upgrades: int, seed: int) -> None:
        self._boots, self._cases = boots, cases
        self._noise = draw(np.random.default_rng([seed, boots, cases]), upgrades, cases, boots, Noise.NORMAL)

    def share(self, spread: float, effect: float) -> float:
        """Return the share of upgrades in which the one case that is slower is called so.

        Parameters
        ----------
        spread : float
            Between boots, log scale.
        effect : float
            Relative slowdown of that case.
        """
        setting = Setting(self._boots, self._cases, spread, effect=effect)
        compared = bracket(phases(self._noise, setting, np.random.default_rng(0)))
        found = judged(compared, levels(compared, margin=MARGIN, level=LEVEL), margin=MARGIN, level=LEVEL)
        return float((found.verdict[:, 0] == Verdict.SLOWER).mean())

    def least_effect(self, spread: float, power: float) -> float | None:
        """Return the smallest slowdown that is found in a share of upgrades; None beyond `MOST_EFFECT`.

        Parameters
        ----------
        spread : float
            Between boots, log scale.
        power : float
            That share.
        """
        return _least(lambda effect: self.share(spread, effect) - power, MOST_EFFECT)

    def most_spread(self, effect: float, power: float) -> float | None:
        """Return the largest spread at which a slowdown is found in a share of upgrades; None beyond `MOST_SPREAD`.

        Parameters
        ----------
        effect : float
            Relative slowdown.
        power : float
            That share.
        """
        return _least(lambda spread: power - self.share(spread, effect), MOST_SPREAD)


def _least(rising: Callable[[float], float], most: float) -> float | None:
    """Return where a function that rises reaches zero, by halving the logarithm between `most` / 1000 and `most`."""
    low, high = math.log(most / 1000), math.log(most)
    if rising(most) < 0:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(math.exp(middle)) >= 0 else (middle, high)
    return math.exp(high)
