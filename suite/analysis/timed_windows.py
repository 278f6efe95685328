"""The `latency`, `throughput` and `training` scenarios: windows in interleaved rounds, summarised launch by launch."""

import math

import msgspec
import numpy as np

from suite.analysis import collect, disturbances, eligibility, estimates, ranks
from suite.analysis.launch_levels import Reduction, reduce
from suite.analysis.types import Counts, Row, SlowStart, TimedBlock
from suite.record.schema import Block
from suite.statistics.ending import EndedBy
from suite.statistics.stopping import DEFAULT_TARGET, decide
from suite.statistics.student import fewest_launches
from suite.statistics.windows import tails


def analyse(block: Block, known: eligibility.Known, *, margin: float, ended: EndedBy) -> TimedBlock:
    """Summarise and rank a block.

    Every launch is reduced to one number, its windows' typical median with the rounds' common drift removed; the launch
    is the unit of replication. Rounds that outside signals called disturbed are left out, where enough others are there
    (`suite.statistics.undisturbed`).

    Parameters
    ----------
    block
        A block that is timed in windows.
    known
        Parity of each arm, for blocks whose own launches did not compare.
    margin
        Relative difference that does not matter.
    ended
        What was allowed to end the block; intervals are wider then.
    """
    found = reduce(block)
    rows = {summary.arm.id: _row(found, number, known, ended) for number, summary in enumerate(found.arms)}
    rounds = [round_ for generation in block.generations for round_ in generation.rounds]
    kept = [
        generation.index
        for row, generation in enumerate(block.generations)
        for column, round_ in enumerate(generation.rounds)
        if round_.disturbed and found.counting.rounds[row, column]
    ]
    return TimedBlock(
        case=block.case,
        **ranks.assign(rows, found.compared, margin=margin, ended=ended),
        generations=sum(bool(generation.rounds) for generation in block.generations),
        rounds=sum(not round_.disturbed for round_ in rounds),
        rounds_disturbed=sum(bool(round_.disturbed) for round_ in rounds),
        rounds_kept=len(kept),
        generations_kept=tuple(sorted(set(kept))),
        disturbances=disturbances.summarise(round_.disturbed for round_ in rounds),
        controls=ranks.controls(block, found.compared, ended=ended),
        half_width=decide(found.matrix, target=DEFAULT_TARGET).half_width if ended is EndedBy.PRECISION else None,
    )


def _row(found: Reduction, number: int, known: eligibility.Known, ended: EndedBy) -> Row:
    """Summarise the arm with this number from its windows that count."""
    summary, counting, block = found.arms[number], found.counting, found.block
    windows: list[collect.WindowSummary] = []
    launches = disturbed = 0
    warming: list[tuple[int, int]] = []
    for launch in summary.launches:
        undisturbed = [each for each in launch.windows if counting.rounds[each.position]]
        kept = [each for each in undisturbed if found.counts(number, each)]
        disturbed += len(launch.windows) - len(undisturbed)
        launches += bool(kept)
        windows += kept
        if len(kept) < len(undisturbed):
            warming.append((launch.generation, len(undisturbed) - len(kept)))
    common = eligibility.arm_row(block, summary, known, measured=launches, needed=fewest_launches(ended))
    workers = summary.workers
    row = Row(
        **msgspec.structs.asdict(common),
        version=collect.version(workers),
        counts=Counts(
            launches=launches,
            launches_failed=len(summary.failures),
            windows=len(windows),
            windows_disturbed=disturbed,
            windows_warming=sum(left_out for _, left_out in warming),
            windows_failed=sum(launch.windows_failed for launch in summary.launches),
            launches_unsteady=sum(state is not None and not state.steady for state in counting.steady[number]),
            calls=sum(window.calls for window in windows),
        ),
        settings=next((worker.settings for worker in workers if worker.settings), {}),
    )
    if not windows:
        return row
    start = counting.starts[number]
    p90_ns, p99_ns = tails(np.concatenate([window.samples_ns for window in windows]))
    medians = tuple(found.median_ns[row.arm].values())
    rates = tuple(1e9 / cost for cost in found.item_ns[row.arm].values())
    everything = found.with_disturbed[row.arm].values()
    cpu_ns = sum(window.cpu_ns for window in windows)
    return msgspec.structs.replace(
        row,
        median_ns=estimates.level(medians),
        launch_medians_ns=medians,
        warming=tuple(sorted(warming)),
        slow_start=(
            SlowStart(start.slow_rounds, math.expm1(start.excess), settled=start.settled)
            if start.excess is not None
            else None
        ),
        p90_ns=p90_ns,
        p99_ns=p99_ns,
        items_per_second=estimates.level(rates),
        launch_items_per_second=rates,
        with_disturbed=(
            estimates.level([1e9 / cost if block.case.per_item else cost for cost in everything]) if disturbed else None
        ),
        cpu_cores=cpu_ns / sum(window.window_ns for window in windows) if cpu_ns or not block.case.imported else None,
        peak_bytes=collect.peak_bytes(workers) if block.case.trains else None,
    )
