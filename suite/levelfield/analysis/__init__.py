"""From a record to what follows from it: medians, intervals, ranks and reasons. Pure, and the same in ten years."""

from levelfield.analysis import (
    conditions,
    convergence,
    driven,
    eligibility,
    identical_arms,
    insights,
    machine,
    timed_windows,
    whole_launch,
)
from levelfield.analysis.ending import ended_by
from levelfield.analysis.status import derive, summarise
from levelfield.analysis.types import Analysis, BlockAnalysis, Status
from levelfield.record.schema import Block, Parity, Run, Settings


def analyse(run: Run) -> Analysis:
    """Compute everything that is reported about a run, from its record alone."""
    blocks = analyse_blocks(run)
    status = summarise(run, blocks)
    canary, noise = conditions.canary(run), conditions.noise(run)
    return Analysis(
        status=status,
        blocks=blocks,
        canary=canary,
        noise=noise,
        warnings=derive(run, blocks, status, (canary, noise)),
        exit_code=_exit_code(status),
        identical=identical_arms.pool(run, blocks),
        insights=insights.derive(run, blocks),
        states=machine.of_run(run, blocks),
    )


def analyse_blocks(run: Run) -> tuple[BlockAnalysis, ...]:
    """Compute the results of a run alone, one entry per block, without what they tell of the run as a whole."""
    known = eligibility.parities(run)
    return tuple(_block(block, known, run.settings) for block in run.blocks)


def _exit_code(status: Status) -> int:
    """Return 2 where nothing at all could be measured, though nothing went wrong either."""
    if status.unequal or status.failed:
        return 1
    return 2 if status.results and len(status.absent) == status.results else 0


def _block(block: Block, known: dict[tuple[str, str, str], Parity], settings: Settings) -> BlockAnalysis:
    ended = ended_by(settings, block.case)
    match block.case.definition.sample:
        case "cold start":
            return whole_launch.cold_start(block, known)
        case "peak memory":
            return whole_launch.memory(block, known)
        case "training run":
            return convergence.analyse(block, known, margin=settings.margin, ended=ended)
        case "LoadGen test":
            return driven.analyse(block, known, margin=settings.margin, ended=ended)
        case "window":
            return timed_windows.analyse(block, known, margin=settings.margin, ended=ended)
