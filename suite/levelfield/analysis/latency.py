"""The `latency`, `throughput` and `training` scenarios: windows in interleaved rounds, summarised launch by launch."""

import math

import msgspec
import numpy as np

from levelfield.analysis import collect, estimates, machine, ranks
from levelfield.analysis.launch_levels import States, by_state
from levelfield.analysis.types import Counts, Row, SlowStart, TimedBlock
from levelfield.record.disturbance import summarise
from levelfield.record.schema import Block
from levelfield.statistics.stopping import DEFAULT_TARGET, decide
from levelfield.statistics.student import EndedBy, fewest_launches
from levelfield.statistics.windows import quantiles


def analyse(block: Block, known: ranks.Known, *, margin: float, ended: EndedBy) -> TimedBlock:
    """Summarise and rank a block.

    Every launch is reduced to one number, its windows' typical median with the rounds' common drift removed; the launch
    is the unit of replication. Rounds that outside signals called disturbed are left out, where enough others are there
    (`statistics.counting`). Where the machine was probed, what is compared is of calm windows.
    """
    found = by_state(block)
    rows = {summary.arm.id: _row(found, number, known, ended) for number, summary in enumerate(found.everything.arms)}
    ranking = ranks.assign(rows, found.compared.compared, margin=margin, ended=ended)
    ranking = machine.with_contended(_of_the_ratios(ranking, found), found, ended)
    counting = found.compared.counting
    rounds = [round_ for generation in block.generations for round_ in generation.rounds]
    kept = [
        generation.index
        for row, generation in enumerate(block.generations)
        for column, round_ in enumerate(generation.rounds)
        if round_.disturbed and counting.rounds[row, column]
    ]
    return TimedBlock(
        case=block.case,
        **ranking,
        generations=sum(bool(generation.rounds) for generation in block.generations),
        rounds=sum(not round_.disturbed for round_ in rounds),
        rounds_disturbed=sum(bool(round_.disturbed) for round_ in rounds),
        rounds_kept=len(kept),
        generations_kept=tuple(sorted(set(kept))),
        disturbances=summarise(round_.disturbed for round_ in rounds),
        controls=ranks.controls(block, found.compared.compared, ended=ended),
        states=machine.summarise(block, ranking["rows"], ranking["best"]),
        half_width=decide(found.compared.matrix, target=DEFAULT_TARGET).half_width
        if ended is EndedBy.PRECISION
        else None,
    )


def _of_the_ratios(ranking: ranks.Ranking[Row], found: States) -> ranks.Ranking[Row]:
    """Return a ranking in which the time of a ranked arm is of the launches that its ratio is of."""
    best = ranking["best"]
    if best is None:
        return ranking

    by = found.compared

    def of_the_ratio(row: Row) -> Row:
        common = sorted(by.compared[row.arm].keys() & by.compared[best].keys())
        if row.rank is None or len(common) in {0, len(by.compared[row.arm])}:
            return row
        return msgspec.structs.replace(
            row,
            call_ns=estimates.level([by.call_ns[row.arm][each] for each in common]),
            items_per_second=estimates.level([1e9 / by.item_ns[row.arm][each] for each in common]),
        )

    return ranks.mapped(ranking, of_the_ratio)


def _row(states: States, number: int, known: ranks.Known, ended: EndedBy) -> Row:
    """Summarise the arm with this number from its windows that count."""
    found = states.compared
    summary, counting, block = found.arms[number], found.counting, found.block
    windows: list[collect.WindowSummary] = []
    launches = disturbed = not_calm = 0
    warming: list[tuple[int, int]] = []
    for launch in summary.launches:
        selected = [each for each in launch.windows if found.selects(each)]
        undisturbed = [each for each in selected if counting.rounds[each.position]]
        kept = [each for each in undisturbed if found.counts(number, each)]
        disturbed += len(selected) - len(undisturbed)
        not_calm += sum(each.state in {"contended", "unsettled"} for each in launch.windows)
        launches += bool(kept)
        windows += kept
        if len(kept) < len(undisturbed):
            warming.append((launch.generation, len(undisturbed) - len(kept)))
    common = ranks.arm_row(block, summary, known, measured=launches, needed=fewest_launches(ended))
    workers = summary.workers
    row = Row(
        **msgspec.structs.asdict(common),
        version=collect.version(workers),
        windows_of=machine.windows_of(block, states),
        not_calm=machine.left_out(found, summary),
        counts=Counts(
            launches=launches,
            launches_failed=len(summary.failures),
            windows=len(windows),
            windows_disturbed=disturbed,
            windows_warming=sum(left_out for _, left_out in warming),
            windows_failed=sum(launch.windows_failed for launch in summary.launches),
            calls=sum(window.calls for window in windows),
            windows_not_calm=not_calm,
        ),
        settings=next((worker.settings for worker in workers if worker.settings), {}),
    )
    if not windows:
        return row
    start = counting.starts[number]
    p50_ns, p90_ns, p99_ns, p999_ns = quantiles(np.concatenate([window.samples_ns for window in windows]))
    medians = tuple(found.call_ns[row.arm].values())
    rates = tuple(1e9 / cost for cost in found.item_ns[row.arm].values())
    everything = found.with_disturbed[row.arm].values()
    cpu_ns = sum(window.cpu_ns for window in windows)
    return msgspec.structs.replace(
        row,
        call_ns=estimates.level(medians),
        launch_medians_ns=medians,
        warming=tuple(sorted(warming)),
        slow_start=(
            SlowStart(start.slow_rounds, math.expm1(start.excess), settled=start.settled)
            if start.excess is not None
            else None
        ),
        p50_ns=p50_ns,
        p90_ns=p90_ns,
        p99_ns=p99_ns,
        p999_ns=p999_ns,
        items_per_second=estimates.level(rates),
        launch_items_per_second=rates,
        with_disturbed=(
            estimates.level([1e9 / cost if block.case.per_item else cost for cost in everything]) if disturbed else None
        ),
        cpu_cores=cpu_ns / sum(window.window_ns for window in windows) if cpu_ns or not block.case.imported else None,
        peak_bytes=collect.peak_bytes(workers) if block.case.trains else None,
    )
