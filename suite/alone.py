"""Launches of which the beginning is what is measured: cold starts, one at a time, and peak memory."""

import random
import shutil
from collections.abc import Sequence

from suite.launchers.worker import WorkerError
from suite.launches import bring_up, probe
from suite.outcomes import Outcome, fail, stop
from suite.records.journal import Journal, LaunchDone
from suite.records.schema import Arm, Block
from suite.site import Site, cache_folder
from suite.verification import verify_outcome
from suite.watching import Watcher
from suite.worker.messages import Measure, Measured

MEMORY_CALLS = 3
"""Calls before peak memory is read: allocators reach their plateau in the first two."""
MEMORY_TIMEOUT_S = 300.0


def cold_starts(
    site: Site,
    block: Block,
    arms: Sequence[Arm],
    index: int,
    seed: int,
    journal: Journal,
    watcher: Watcher,
    *,
    live_on: bool,
) -> list[Outcome]:
    """Launch every arm once, one after the other, with empty compile caches (the page cache stays warm).

    Parameters
    ----------
    live_on
        Whether the workers go on to the model's next case. They sleep while the others start.
    """
    outcomes: list[Outcome] = []
    try:
        for number, arm in enumerate(_shuffled(arms, seed), start=1):
            shutil.rmtree(cache_folder(site, block.case, arm), ignore_errors=True)
            outcomes += bring_up(site, block.case, [arm])
            journal.write(LaunchDone(block.case.id, index, outcomes[-1].launch))
            if not live_on:
                stop(outcomes)
            watcher.progress(f"cold start of {arm.id} ({number} of {len(arms)})", {})
    except BaseException:
        stop(outcomes)
        raise
    return outcomes


def peak_memory(
    site: Site, block: Block, arms: Sequence[Arm], index: int, seed: int, journal: Journal, watcher: Watcher
) -> list[Outcome]:
    """Launch every arm, let it answer a few calls, and read its peak; only then is its output verified.

    All launches live at once, as in the timed rounds: another process does not change this one's memory. They live on,
    since what they do after the reading does not change it either.
    """
    outcomes = bring_up(site, block.case, _shuffled(arms, seed), verify=False)
    try:
        for number, outcome in enumerate(outcomes, start=1):
            work(outcome)
            probe(outcome, installed=False)
            verify_outcome(site, block.case, outcome)
            journal.write(LaunchDone(block.case.id, index, outcome.launch))
            watcher.progress(f"peak memory of {outcome.arm.id} ({number} of {len(outcomes)})", {})
    except BaseException:
        stop(outcomes)
        raise
    return outcomes


def _shuffled(arms: Sequence[Arm], seed: int) -> list[Arm]:
    shuffled = sorted(arms, key=lambda arm: arm.id)
    random.Random(seed).shuffle(shuffled)  # noqa: S311  (a schedule, not a secret)
    return shuffled


def work(outcome: Outcome) -> None:
    """Let a worker make the calls after which its memory no longer grows; one that cannot is ended."""
    if outcome.worker is None:
        return
    try:
        outcome.worker.ask(Measure(window_ns=0, min_calls=MEMORY_CALLS), Measured, MEMORY_TIMEOUT_S)
    except WorkerError as error:
        fail(outcome, "measure", error)
