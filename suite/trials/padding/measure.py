"""Launch one arm with and without padding, in turns: as many launches of either treatment alive together."""

import random
import statistics

import msgspec

from suite.errors import LevelfieldError
from suite.launchers.worker import WorkerError
from suite.machine.disturbance import disturbed
from suite.machine.signals import Signals
from suite.record.bounds import SEED_BITS
from suite.record.schema import Arm, Case
from suite.schedule import padding
from suite.schedule.outcomes import Outcome, end_workers
from suite.schedule.resources import RunResources
from suite.schedule.rounds import WARM_CALLS, WARM_NS, Pace, warm_up
from suite.schedule.timed_inputs import rotate
from suite.trials.padding.record import Generation, Launched, Treatment
from suite.trials.workers import launch, process_ids, take_turn
from suite.worker.messages import Measure

TOGETHER = 4
"""Launches of either treatment in a generation: they share the drift of its rounds, which is then taken off."""


def generation(site: RunResources, case: Case, arm: Arm, pace: Pace, signals: Signals, seed: str) -> Generation:
    """Launch an arm `TOGETHER` times with either treatment, and let all launches take turns in random order.

    Parameters
    ----------
    site : RunResources
        Images and artifacts.
    case, arm : Case and Arm
        What is launched.
    pace : Pace
        Rounds, and length of windows.
    signals : Signals
        Of the machine, open.
    seed : str
        Of the lengths, of the order of launches and of the order of turns.

    Returns
    -------
    Generation

    Raises
    ------
    LevelfieldError
        The arm cannot be measured, or does not compute what it should.
    """
    chance = random.Random(seed)  # noqa: S311 (a schedule)
    arms = [msgspec.structs.replace(arm, ordinal=number) for number in range(1, 2 * TOGETHER + 1)]
    chance.shuffle(arms)
    lengths = padding.draw(chance.sample(arms, TOGETHER), chance.getrandbits(SEED_BITS))
    outcomes: list[Outcome] = []
    try:
        outcomes += launch(site, case, arms, launch_measured=False, padding_bytes=lengths)
        rotate(site, case, outcomes)
        for outcome in outcomes:
            warm_up(outcome, pace)
        windows_ns: dict[str, list[float]] = {each.id: [] for each in arms}
        reasons = [_round(outcomes, pace, signals, chance, windows_ns) for _ in range(pace.rounds)]
    except WorkerError as error:
        raise LevelfieldError(f"{case.id} cannot be measured: {error.message}") from error
    finally:
        end_workers(outcomes)
    rows = [
        Launched(_treatment(each, lengths), each.launch.environment_padding_bytes or 0, tuple(windows_ns[each.arm.id]))
        for each in outcomes
    ]
    return Generation(tuple(sorted(rows, key=lambda row: row.treatment)), tuple(reasons))


def _treatment(outcome: Outcome, lengths: dict[str, int]) -> Treatment:
    return "random" if outcome.arm.id in lengths else "fixed"


def _round(
    outcomes: list[Outcome], pace: Pace, signals: Signals, chance: random.Random, windows_ns: dict[str, list[float]]
) -> str:
    """Take one window of each launch; return why the round was disturbed."""
    request = Measure(pace.window_ns, pace.min_calls, rewarm_calls=WARM_CALLS, rewarm_ns=WARM_NS)
    pids, seen = process_ids(outcomes), []
    for outcome in chance.sample(outcomes, len(outcomes)):
        turn = take_turn(outcome, request, signals, pids)
        windows_ns[outcome.arm.id].append(statistics.median(turn.measured.samples_ns))
        seen.append(turn.noise)
    return disturbed(seen, len(signals.cpus))
