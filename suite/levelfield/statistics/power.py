"""What a design can detect: standard error, power, minimum detectable effect, and how many rounds a launch is worth.

It follows from where the variance is: between launches, between rounds, between windows. The model, on the log scale,
for generation g, round r and arm a::

    y[g, r, a] = level[a] + launch[g, a] + drift[g, r] + window[g, r, a]

All arms of a round share `drift`, so it leaves their ratios alone; it is separated here to show how much was gained by
interleaving. What `window` holds beyond the error of a median of its calls is the machine between windows.

References
----------
T. Kalibera, R. Jones (2013). Rigorous benchmarking in reasonable time. ISMM '13, 63–74 (optimal repetition counts).
S. R. Searle, G. Casella, C. E. McCulloch (1992). Variance Components, ch. 4 (analysis-of-variance estimators).
"""

import math

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats, InsufficientData, finite_or_missing
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy, freedom, trimmed, widening


class VarianceSplit(msgspec.Struct, frozen=True):
    """Standard deviations on the log scale: 0.01 is about 1 %."""

    launch_sd: float
    """Between launches of the same program."""
    window_sd: float
    """Between windows of one launch, drift of the rounds removed."""
    round_sd: float
    """Common to all arms of a round: what pairing removes."""
    generations: int
    rounds: int
    """Complete rounds over all generations."""
    arms: int


def split_variance(log_windows: ArrayLike) -> VarianceSplit:
    """Split the variance of a block's windows.

    `log_windows`, shape (generations, rounds, arms), log of time: log of each window's median; NaN where there is none.
    Only complete rounds are used. Returns: averages over the arms. A component whose estimate is negative (it happens
    when it is small) is 0. Raises InsufficientData: fewer than two arms, or fewer than two generations with at least
    two complete rounds each. Raises UnusableData: infinite values, or not three dimensions.
    """
    windows = finite_or_missing(log_windows, dimensions=3, what="windows")
    arms = windows.shape[2]
    if arms < 2:
        raise InsufficientData("Splitting the variance takes at least two arms: drift is what they have in common.")
    blocks = [block[~np.isnan(block).any(axis=1)] for block in windows]
    blocks = [block for block in blocks if block.shape[0] >= 2]
    if len(blocks) < 2:
        raise InsufficientData(
            f"{len(blocks)} generations have two complete rounds or more; splitting the variance takes at least two."
        )
    rounds = np.array([block.shape[0] for block in blocks])
    window = _window_variance(blocks)
    means = np.array([block.mean(axis=0) for block in blocks])
    # Interaction of generation and arm: what is left of launch means without arm and generation.
    rest = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    between = float((rest**2).sum() / ((len(blocks) - 1) * (arms - 1)))
    launch = max(between - window * float((1 / rounds).mean()), 0.0)
    drift = max(_round_variance(blocks) - window / arms, 0.0)
    return VarianceSplit(
        launch_sd=math.sqrt(launch),
        window_sd=math.sqrt(window),
        round_sd=math.sqrt(drift),
        generations=len(blocks),
        rounds=int(rounds.sum()),
        arms=arms,
    )


def _window_variance(blocks: list[Floats]) -> float:
    """Mean square of the interaction of rounds and arms within generations."""
    squares, freedom = 0.0, 0
    for block in blocks:
        rest = block - block.mean(axis=0) - block.mean(axis=1, keepdims=True) + block.mean()
        squares += float((rest**2).sum())
        freedom += (block.shape[0] - 1) * (block.shape[1] - 1)
    return squares / freedom


def _round_variance(blocks: list[Floats]) -> float:
    """Variance of round means within generations."""
    squares, freedom = 0.0, 0
    for block in blocks:
        means = block.mean(axis=1)
        squares += float(((means - means.mean()) ** 2).sum())
        freedom += block.shape[0] - 1
    return squares / freedom


MAX_ROUNDS = 100
"""Most rounds planned for one launch: where launches hardly differ the optimum is infinite, and a few more launches
cost little."""


class Design(msgspec.Struct, frozen=True):
    """A comparison of two interleaved arms: so many launches each, so many rounds a launch."""

    launches: int
    rounds: int
    launch_sd: float
    """Between launches, log scale."""
    window_sd: float
    """Between windows of a launch, log scale, drift of the rounds removed."""


def pair_sd(launch_sd: float, window_sd: float, rounds: int) -> float:
    """Return the standard deviation of one generation's log ratio: of two launches.

    `launch_sd`, `window_sd`: between launches, and between windows of a launch; log scale. `rounds`: windows of each
    launch.
    """
    return math.sqrt(2 * (launch_sd**2 + window_sd**2 / rounds))


def standard_error(design: Design) -> float:
    """Return the standard error of the log ratio of two arms."""
    return pair_sd(design.launch_sd, design.window_sd, design.rounds) / math.sqrt(design.launches)


def power(effect: float, design: Design, *, alpha: float = 0.05, ended: EndedBy = EndedBy.PLAN) -> float:
    """Return the probability that the interval of the ratio excludes 1, on the right side.

    `effect`: true relative change, such as 0.02 for 2 % slower. `alpha`: 1 minus the confidence of the interval.
    `ended`: whether intervals are widened for stopping on precision. Returns: from the noncentral t distribution, of
    normal noise. At no effect it is alpha / 2: one side of the false alarms. Raises InsufficientData: fewer launches
    than an interval needs.
    """
    _enough(design)
    error = standard_error(design) * _loss(trimmed(design.launches, ended) / design.launches)
    shift = abs(math.log1p(effect))
    if error == 0:
        return 1.0 if shift > 0 else alpha / 2
    degrees = freedom(design.launches, ended)
    critical = float(scipy.special.stdtrit(degrees, 1 - alpha / 2)) * widening(design.launches, ended=ended)
    return float(scipy.stats.nct.sf(critical, degrees, shift / error))


def minimum_detectable_effect(
    design: Design, *, alpha: float = 0.05, probability: float = 0.95, ended: EndedBy = EndedBy.PLAN
) -> float:
    """Return the smallest relative slowdown that is found with the given probability.

    `design`, `alpha`, `ended`: as in `power`. `probability`: power to reach. Returns: such as 0.018 for 1.8 %; 0 if
    nothing varies.
    """
    _enough(design)
    error = standard_error(design)
    if error == 0:
        return 0.0

    def missing(log_effect: float) -> float:
        return power(math.expm1(log_effect), design, alpha=alpha, ended=ended) - probability

    top = error
    while missing(top) < 0:
        top *= 2
    return math.expm1(float(scipy.optimize.brentq(missing, 0.0, top, xtol=1e-7)))


def optimal_rounds(split: VarianceSplit, *, launch_seconds: float, window_seconds: float) -> int:
    """Return how many rounds a launch is worth (Kalibera & Jones 2013, section 6).

    `launch_seconds`: to start a worker, load, compile and warm up: paid once a launch. `window_seconds`: of one window
    with its unrecorded calls. Returns: sqrt(launch cost / window cost × window variance / launch variance), at least 1,
    at most `MAX_ROUNDS`.
    """
    if launch_seconds <= 0 or window_seconds <= 0:
        raise ValueError("Costs of launches and windows are positive seconds.")
    if split.launch_sd == 0:
        return MAX_ROUNDS if split.window_sd > 0 else 1
    best = math.sqrt(launch_seconds / window_seconds) * split.window_sd / split.launch_sd
    return min(max(math.ceil(best), 1), MAX_ROUNDS)


def _loss(out: float) -> float:
    """Return the standard error of a trimmed mean of normal values over that of their mean."""
    if out == 0:
        return 1.0
    edge = float(scipy.special.ndtri(1 - out))
    density = math.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    winsorised = 1 - 2 * out - 2 * edge * density + 2 * out * edge**2
    return math.sqrt(winsorised) / (1 - 2 * out)


def _enough(design: Design) -> None:
    if design.launches < MIN_LAUNCHES or design.rounds < 1:
        raise InsufficientData(
            f"{design.launches} launches of {design.rounds} rounds: an interval needs at least {MIN_LAUNCHES} launches "
            "of one round."
        )
