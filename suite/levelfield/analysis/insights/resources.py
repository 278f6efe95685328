"""Which resource bounds each case: what an arm reached, as a share of what this machine was seen to reach.

The arithmetic and the traffic of a call are counted from the model's definition, never from what a framework did: an
arm that computes a convolution with fewer multiplications gets credit for all of them. Traffic is what a call moves if
element-wise work is fused and nothing stays in a cache between two layers; where weights and activations fit into the
last cache, none of it needs to come from memory, and no bandwidth share is reported. Ceilings that were
measured while the machine was disturbed are not used.

`explained` says what share of a network's time its operators explain: each measured alone, as often as one call has it.
Launches are paired by generation. Element-wise work and normalisations are no layers of a definition, so the rest of a
call is theirs, and the framework's own. A sum above the call's time says that alone an operator finds its data in no
cache, pays for being called, or is fused with what follows it in the network.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from levelfield.analysis import collect, estimates, types
from levelfield.analysis.estimates import Levels, ended_by
from levelfield.analysis.launch_levels import launch_levels
from levelfield.record.schema import Absent, Block, Case, Roofline, Run, Work

NEAR = 0.5
"""From this share of a ceiling on, it is what bounds a call."""
FAR = 0.1
"""Below this share of both ceilings, most of a call is spent on neither."""
FEWER_PRODUCTS = "convolution 3×3"
"""Kind of layer that Winograd's algorithm does with fewer multiplications."""
COUNTED = frozenset({"fp32"})
"""Precisions that the measured ceilings are of."""

COPIED, ADDED = 2, 3
"""Arrays moved by a copy and by a sum."""


def ceilings(run: Run) -> tuple[types.Ceilings, ...]:
    """Return what the probe reached, by the number of threads; empty where there was none, or it makes no sense."""
    if isinstance(run.roofline, Absent):
        return ()
    return tuple(found for each in run.roofline if (found := _ceilings(each)) is not None)


def _ceilings(roofline: Roofline) -> types.Ceilings | None:
    flops = _ceiling(2 * roofline.gemm_size**3, roofline.gemm_ns)
    copied = _ceiling(COPIED * roofline.array_bytes, roofline.copy_ns)
    added = _ceiling(ADDED * roofline.array_bytes, roofline.add_ns)
    if flops is None or copied is None or added is None:
        return None
    cache = roofline.last_cache_bytes
    return types.Ceilings(
        roofline=roofline,
        flops=flops,
        bytes=max(copied, added, key=lambda rate: rate.per_s),
        cache_bytes=None if isinstance(cache, Absent) or cache <= 0 else cache,
    )


def _ceiling(amount: int, samples_ns: Sequence[int]) -> types.Ceiling | None:
    if amount <= 0 or not samples_ns or min(samples_ns) <= 0:
        return None
    return types.Ceiling(
        per_s=1e9 * amount / statistics.median(samples_ns),
        lowest=1e9 * amount / max(samples_ns),
        highest=1e9 * amount / min(samples_ns),
        samples=len(samples_ns),
    )


def derive(
    run: Run, blocks: Iterable[types.BlockAnalysis], ceilings: Sequence[types.Ceilings]
) -> tuple[types.CaseUse, ...]:
    """Return how each timed case used the CPU, where its model was counted and the machine measured."""
    works = {
        (work.question or work.model, work.batch): work
        for work in run.work
        if work.macs > 0 or work.activation_bytes > 0
    }
    by_threads = {each.roofline.threads: each for each in ceilings if not each.roofline.disturbed}
    found: list[types.CaseUse] = []
    for recorded, block in zip(run.blocks, blocks, strict=True):
        case = block.case
        work, ceiling = works.get((case.question, case.batch)), by_threads.get(case.threads)
        if not isinstance(block, types.TimedBlock) or work is None or ceiling is None:
            continue
        if (case.definition.serves or case.definition.decodes) and case.device == "cpu" and case.precision in COUNTED:
            use = _case(recorded, block, work, ceiling)
            found += [use] if use.uses else []
    return tuple(found)


def _case(recorded: Block, block: types.TimedBlock, work: Work, ceilings: types.Ceilings) -> types.CaseUse:
    footprint = work.weight_bytes + work.widest_bytes
    fits = ceilings.cache_bytes is not None and footprint <= ceilings.cache_bytes
    moved = None if fits else work.weight_bytes + work.activation_bytes
    compute_ns = 1e9 * 2 * work.macs / ceilings.flops.per_s
    move_ns = 1e9 * moved / ceilings.bytes.per_s if moved is not None else 0.0
    return types.CaseUse(
        case=block.case,
        work=work,
        ceilings=ceilings,
        fits_cache=fits,
        floor_ns=max(compute_ns, move_ns),
        fewer_products=work.macs_by_kind.get(FEWER_PRODUCTS, 0) / max(work.macs, 1),
        uses=tuple(
            _use(row, call_ns, work, moved, ceilings, _libraries(recorded, row.arm))
            for row in block.rows
            if row.is_equal and (call_ns := _call_ns(row, block)) is not None
        ),
    )


def _call_ns(row: types.Row, block: types.TimedBlock) -> types.Estimate | None:
    if not block.case.per_item:
        return row.call_ns
    rate = row.items_per_second
    if rate is None or rate.value <= 0 or (rate.low is not None and rate.low <= 0):
        return None
    return rate.inverse.scaled(1e9 * block.case.items)


def _use(
    row: types.Row,
    call_ns: types.Estimate,
    work: Work,
    moved: int | None,
    ceilings: types.Ceilings,
    libraries: tuple[str, ...],
) -> types.Use:
    per_s = call_ns.inverse.scaled(1e9)
    flops = per_s.scaled(2 * work.macs)
    compute = flops.scaled(1 / ceilings.flops.per_s)
    memory = per_s.scaled(moved).scaled(1 / ceilings.bytes.per_s) if moved is not None else None
    return types.Use(
        arm=row.arm,
        backend=row.backend,
        bound=bound(compute.value, memory.value if memory is not None else None),
        call_ns=call_ns,
        flops_per_s=flops,
        compute_share=compute,
        memory_share=memory,
        cpu_cores=row.cpu_cores,
        libraries=libraries,
    )


def bound(compute_share: float, memory_share: float | None) -> types.Bound:
    """Return what limits a call that reached these shares of the ceilings."""
    memory = memory_share or 0.0
    if max(compute_share, memory) < FAR:
        return "overhead"
    if max(compute_share, memory) < NEAR:
        return "neither"
    return "compute" if compute_share >= memory else "memory"


def _libraries(block: Block, arm: str) -> tuple[str, ...]:
    """Return the kinds of libraries in the arm's first launch that recorded them."""
    first = next((launch.libraries for _, launch in collect.launches(block, arm) if launch.libraries), ())
    return tuple(sorted({library.kind for library in first}))


def headroom(run: Run, blocks: Iterable[types.BlockAnalysis]) -> tuple[types.Headroom, ...]:
    """Return the smallest and the largest peak of every memory case, with the known limits."""
    machine = run.machine.get("memory", {}).get("total bytes")
    limit = run.settings.worker_memory_bytes
    works = {(work.model, work.batch): work for work in run.work if not work.question}
    found: list[types.Headroom] = []
    for block in blocks:
        if not isinstance(block, types.MemoryBlock):
            continue
        peaks = {
            row.arm: row.peak_bytes
            for row in block.rows
            if row.peak_bytes is not None and row.peak_bytes > 0 and row.standing == "shown"
        }
        if not peaks:
            continue
        least, most = min(peaks, key=peaks.__getitem__), max(peaks, key=peaks.__getitem__)
        work = works.get((block.case.model, block.case.batch))
        found.append(
            types.Headroom(
                case=block.case,
                least_arm=least,
                least_bytes=peaks[least],
                most_arm=most,
                most_bytes=peaks[most],
                limit_bytes=limit if limit is not None and limit > 0 else None,
                machine_bytes=machine if isinstance(machine, int) and machine > 0 else None,
                weight_bytes=work.weight_bytes if work is not None else None,
            )
        )
    return tuple(found)


LEAST = 0.5
"""Share of a network's arithmetic that the measured operators must have before anything is said."""


def explained(run: Run, blocks: Sequence[types.BlockAnalysis]) -> tuple[types.Explained, ...]:
    """Return what is explained of every network that was called with one input, beside operators."""
    pairs = zip(run.blocks, blocks, strict=True)
    timed = [(recorded, found) for recorded, found in pairs if isinstance(found, types.TimedBlock)]
    operators = [recorded for recorded, _ in timed if recorded.case.definition.operators]
    if not operators:
        return ()
    works = {work.model: work for work in run.work if work.batch == 1 and not work.question}
    found = (
        _explained(run, recorded, block, [each for each in operators if _how(each.case) == _how(recorded.case)], works)
        for recorded, block in timed
        if recorded.case.scenario == "latency" and recorded.case.batch == 1 and recorded.case.model in works
    )
    return tuple(each for each in found if each is not None)


def _how(case: Case) -> tuple[str, int, str, int]:
    return case.precision, case.threads, case.device, case.batch


def _explained(
    run: Run, recorded: Block, found: types.TimedBlock, operators: Iterable[Block], works: Mapping[str, Work]
) -> types.Explained | None:
    often = works[recorded.case.model].operators
    levels = {each.case.model: launch_levels(each) for each in operators if each.case.model in often}
    held = sum(often[name] * works[name].macs for name in levels if name in works)
    share = held / works[recorded.case.model].macs if held else 0.0
    if share < LEAST:
        return None
    whole, ended = launch_levels(recorded), ended_by(run.settings, recorded.case)
    arms = []
    for row in (each for each in found.rows if each.is_equal):
        sums = _sums(row.arm, often, levels)
        ratio = estimates.ratio(sums, whole[row.arm], ended=ended) if sums else None
        if ratio is not None:
            arms.append(types.ArmParts(row.arm, ratio))
    return types.Explained(recorded.case, share, len(levels), tuple(arms)) if arms else None


def _sums(arm: str, often: Mapping[str, int], levels: Mapping[str, Levels]) -> dict[int, float]:
    """Return the summed times of an arm's operators, by generation; none where one of them has no time."""
    by_operator = [(often[name], each.get(arm, {})) for name, each in levels.items()]
    common = set.intersection(*(set(each) for _, each in by_operator))
    return {index: sum(count * each[index] for count, each in by_operator) for index in sorted(common)}
