"""What is simulated: tails, false verdicts of many settings, and what is found."""

import itertools
import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from studies.fleet import draws, shapes
from studies.fleet.draws import Noise, Scatter, Setting, Tally, tally
from studies.fleet.record import Canary, Reach, Record
from suite.schedule.outcomes import utc_now
from suite.statistics.outliers import LEVEL, MARGIN, NOISE_SHARE, compare_levels
from suite.version import __version__

PEERS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 24, 31, 48, 99, 199)
LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
NODE_SDS = (0.003, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.03)
RUN_SDS = (0.005, 0.01, 0.015)
NODES_OF_CURVE = (4, 8, 16, 32, 100, 300)
FEWER = 4
"""All but like nodes are simulated so many times less often."""
SHAPES = 2_000_000
"""Most shapes of peers that tails are averaged over."""
_DISTANCES_PER_FLEET = 1 << 16
"""Most distances of pairs that are computed for them."""


def simulate(fleets: int, seed: int, say: Callable[[str], None]) -> Record:
    """Simulate everything.

    Parameters
    ----------
    fleets : int
        Of like nodes, 100 of 6 cases or fewer, in each setting; of the others a quarter.
    seed : int
        Of the draws.
    say : callable
        Prints a line.
    """
    fewer = max(fleets // FEWER, 1)

    def tallies(title: str, settings: Iterator[Setting], fleets: int = fewer) -> tuple[Tally, ...]:
        say(title)
        return tuple(tally(each, of_size(fleets, each), seed + number) for number, each in enumerate(settings))

    alike, one, several = (
        tallies("Like nodes", _alike(), fleets),
        tallies("One slow node", _one_slow()),
        tallies("Several slow nodes", _several_slow()),
    )
    say("Scatter")
    noise = tuple(_noise(fewer, seed))
    say("What is found")
    finds = tuple(_finds(fewer, seed))
    say("The canary")
    pairs = [tuple(_canary(cases, fewer, seed)) for cases in (1, None)]
    say("Tails")
    drawn = [_shapes(peers, fleets, seed) for peers in PEERS]
    return Record(
        schema=Record.SCHEMA,
        updated=utc_now(),
        tool_version=__version__,
        seed=seed,
        fleets=fleets,
        margin=MARGIN,
        level=LEVEL,
        fits=tuple(shapes.fit(each) for each in drawn),
        tails=tuple(check for each in drawn for check in shapes.checks(each, LEVELS)),
        alike=alike,
        noise=noise,
        one_slow=one,
        several_slow=several,
        finds=finds,
        one_case=pairs[0],
        whole_node=pairs[1],
    )


def of_size(fleets: int, setting: Setting) -> int:
    """Return how many fleets of a setting are simulated: fewer where they are larger than 100 nodes of 6 cases.

    Parameters
    ----------
    fleets : int
        Of smaller ones.
    setting : Setting
        What they are.
    """
    return max(round(fleets * min(1, 600 / (setting.nodes * setting.groups * setting.cases))), 1)


def _alike() -> Iterator[Setting]:
    for nodes, cases, noise in itertools.product((4, 6, 8, 16, 100), (1, 6), Noise):
        yield Setting(nodes, cases, noise=noise)
    for node_sd, run_sd, noise in itertools.product((0.003, 0.03), (0.005, 0.015), Noise):
        yield Setting(100, 6, node_sd=node_sd, run_sd=run_sd, noise=noise)
    for runs, noise in itertools.product((1, 2, 3, 4, 9), Noise):
        yield Setting(32, 6, runs=runs, node_sd=0.005, run_sd=0.015, noise=noise)
    for shared in (0.0, 1.0):
        yield Setting(32, 30, shared=shared)
    for noise in Noise:
        yield Setting(8, 6, groups=6, noise=noise)
        yield Setting(300, 6, noise=noise)
        yield Setting(1000, 30, noise=noise)


def _one_slow() -> Iterator[Setting]:
    for cases, node_sd, run_sd, noise in itertools.product((1, 6), NODE_SDS, (0.005, 0.015), Noise):
        yield Setting(100, cases, node_sd=node_sd, run_sd=run_sd, noise=noise, slow=1, effect=0.1)


def _several_slow() -> Iterator[Setting]:
    for slow, effect in itertools.product((1, 5, 10, 20, 25, 29), (0.05, 0.1, 0.2)):
        yield Setting(100, 6, node_sd=0.005, slow=slow, effect=effect)
    for slow, effect in itertools.product((1, 2), (0.1, 0.2, 0.5)):
        yield Setting(8, 6, node_sd=0.005, slow=slow, effect=effect)


def _noise(fleets: int, seed: int) -> Iterator[Scatter]:
    for nodes, runs, launches, noise in itertools.product((8, 100), (1, 5), (5, 10), Noise):
        yield draws.scatter(nodes, 6, runs, launches, noise, fleets, seed)


def _finds(fleets: int, seed: int) -> Iterator[Reach]:
    for nodes, node_sd in itertools.product(NODES_OF_CURVE, NODE_SDS):
        setting = Setting(nodes, 6, node_sd=node_sd, slow=1, slow_cases=1)
        at = finds(setting, seed)
        slow = msgspec.structs.replace(setting, effect=at or 0.0)
        found = tally(slow, of_size(fleets, setting), seed).found if at is not None else None
        yield Reach(nodes, 6, setting.runs, node_sd, setting.run_sd, at, found)


def finds(setting: Setting, seed: int, groups: int = 40) -> float | None:
    """Return the slowdown of one node that is found with a probability of 95 %, by the formula of the verdict.

    Parameters
    ----------
    setting : Setting
        Of the fleets.
    seed : int
        Of the draws.
    groups : int
        Simulated groups whose median is taken.

    Returns
    -------
    float or None
        None: not even the largest one that is looked for.
    """
    runs = draws.draw(np.random.default_rng([seed, 1]), groups, setting)
    found = compare_levels(draws.costs(runs))
    least = float(np.median(found.finds((1 - NOISE_SHARE) * LEVEL / (setting.nodes * setting.cases))))
    return least if math.isfinite(least) else None


def _canary(slow_cases: int | None, fleets: int, seed: int) -> Iterator[Canary]:
    for shared, node_sd in itertools.product((0.0, 0.5, 0.8, 0.95), (0.005, 0.01, 0.02)):
        absolute, paired = (
            tally(
                Setting(
                    32,
                    6,
                    node_sd=node_sd,
                    run_sd=0.005,
                    shared=shared,
                    slow=1,
                    effect=0.08,
                    slow_cases=slow_cases,
                    paired=each,
                ),
                fleets,
                seed,
            )
            for each in (False, True)
        )
        yield Canary(shared, absolute, paired)


def _shapes(peers: int, fleets: int, seed: int) -> shapes.Shapes:
    most = _DISTANCES_PER_FLEET * fleets // (peers * (peers - 1) // 2)
    return shapes.draw(np.random.default_rng([seed, peers]), peers, min(SHAPES, most))
