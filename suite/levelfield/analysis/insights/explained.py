"""What share of a network's time its operators explain: each measured alone, as often as one call has it.

Launches are paired by generation. Element-wise work and normalisations are no layers of a definition, so the rest of a
call is theirs, and the framework's own. A sum above the call's time says that alone an operator finds its data in no
cache, pays for being called, or is fused with what follows it in the network.
"""

from collections.abc import Iterable, Mapping, Sequence

from levelfield.analysis import estimates
from levelfield.analysis.estimates import Levels, ended_by
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.types import ArmParts, BlockAnalysis, Explained, TimedBlock
from levelfield.record.schema import Block, Case, Run, Work

LEAST = 0.5
"""Share of a network's arithmetic that the measured operators must have before anything is said."""


def derive(run: Run, blocks: Sequence[BlockAnalysis]) -> tuple[Explained, ...]:
    """Return what is explained of every network that was called with one input, beside operators."""
    timed = [(recorded, found) for recorded, found in zip(run.blocks, blocks, strict=True) if _is_timed(found)]
    operators = [recorded for recorded, _ in timed if recorded.case.definition.operators]
    if not operators:
        return ()
    works = {work.model: work for work in run.work if work.batch == 1 and not work.question}
    found = (
        _of(run, recorded, block, [each for each in operators if _alike(each.case, recorded.case)], works)
        for recorded, block in timed
        if _is_called_with_one(recorded.case) and recorded.case.model in works
    )
    return tuple(each for each in found if each is not None)


def _is_timed(found: BlockAnalysis) -> bool:
    return isinstance(found, TimedBlock)


def _is_called_with_one(case: Case) -> bool:
    return case.scenario == "latency" and case.batch == 1


def _alike(one: Case, other: Case) -> bool:
    return (one.precision, one.threads, one.device, one.batch) == (
        other.precision,
        other.threads,
        other.device,
        other.batch,
    )


def _of(
    run: Run, recorded: Block, found: BlockAnalysis, operators: Iterable[Block], works: Mapping[str, Work]
) -> Explained | None:
    often = works[recorded.case.model].operators
    levels = {each.case.model: launch_levels(each) for each in operators if each.case.model in often}
    held = sum(often[name] * works[name].macs for name in levels if name in works)
    share = held / works[recorded.case.model].macs if held else 0.0
    if share < LEAST or not isinstance(found, TimedBlock):
        return None
    whole, ended = launch_levels(recorded), ended_by(run.settings, recorded.case)
    arms = []
    for row in (each for each in found.rows if each.is_equal):
        sums = _sums(row.arm, often, levels)
        ratio = estimates.ratio(sums, whole[row.arm], ended=ended) if sums else None
        if ratio is not None:
            arms.append(ArmParts(row.arm, ratio))
    return Explained(recorded.case, share, len(levels), tuple(arms)) if arms else None


def _sums(arm: str, often: Mapping[str, int], levels: Mapping[str, Levels]) -> dict[int, float]:
    """Return the summed times of an arm's operators, by generation; none where one of them has no time."""
    by_operator = [(often[name], each.get(arm, {})) for name, each in levels.items()]
    common = set.intersection(*(set(each) for _, each in by_operator))
    return {index: sum(count * each[index] for count, each in by_operator) for index in sorted(common)}
