"""Launches that are measured as a whole: cold starts, one at a time, and peak memory."""

import shutil
from collections.abc import Mapping, Sequence

from levelfield.record.journal import Journal, LaunchDone
from levelfield.record.schema import Arm, Block
from levelfield.schedule import padding
from levelfield.schedule.launches import bring_up, probe
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, ask, end_workers, ended_on_error, shuffled
from levelfield.schedule.output_verification import verify_outputs
from levelfield.schedule.resources import RunResources, cache_folder
from levelfield.worker.messages import Measure, Measured

MEMORY_CALLS = 3
"""Calls before peak memory is read: allocators reach their plateau in the first two."""
MEMORY_TIMEOUT_S = 300.0


def cold_starts(
    resources: RunResources,
    block: Block,
    arms: Sequence[Arm],
    index: int,
    seed: int,
    journal: Journal,
    listener: ProgressListener,
    *,
    keep_workers: bool,
) -> list[Outcome]:
    """Launch every arm once, one after the other, with empty compile caches (the page cache stays warm)."""
    outcomes: list[Outcome] = []
    with ended_on_error(outcomes):
        for number, arm in enumerate(shuffled(arms, seed), start=1):
            shutil.rmtree(cache_folder(resources, block.case, arm), ignore_errors=True)
            outcomes += bring_up(resources, block.case, [arm], padding_bytes=padding.draw([arm], seed))
            journal.write(LaunchDone(block.case.id, index, outcomes[-1].launch))
            if not keep_workers:
                end_workers(outcomes)
            listener.progress(f"cold start of {arm.id} ({number} of {len(arms)})", {})
    return outcomes


def peak_memory(
    resources: RunResources,
    block: Block,
    arms: Sequence[Arm],
    index: int,
    seed: int,
    journal: Journal,
    listener: ProgressListener,
    *,
    expected_ns: Mapping[str, float],
) -> list[Outcome]:
    """Launch every arm, let it answer a few calls, and read its peak; only then is its output verified.

    All launches are alive at once, as in the timed rounds: another process does not change this one's memory. They are
    kept alive, since what they do after the reading does not change it either.
    """
    outcomes = bring_up(
        resources,
        block.case,
        shuffled(arms, seed),
        verify=False,
        expected_ns=expected_ns,
        padding_bytes=padding.draw(arms, seed),
    )
    with ended_on_error(outcomes):
        for number, outcome in enumerate(outcomes, start=1):
            work(outcome)
            probe(outcome, installed=False)
            with resources.watch.phase("verifying"):
                verify_outputs(resources, block.case, outcome)
            journal.write(LaunchDone(block.case.id, index, outcome.launch))
            listener.progress(f"peak memory of {outcome.arm.id} ({number} of {len(outcomes)})", {})
    return outcomes


def work(outcome: Outcome) -> None:
    """Let a worker make the calls after which its memory no longer grows; one that cannot is ended."""
    ask(outcome, "measure", Measure(window_ns=0, min_calls=MEMORY_CALLS), Measured, MEMORY_TIMEOUT_S)
