"""Restore a record from the one inside a page: every figure of the whole record, from a part of its samples."""

import dataclasses
import math
from collections.abc import Iterator
from functools import partial

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import TimedBlock
from levelfield.record.schema import Run, Window
from levelfield.report import projections
from levelfield.report.thinning import Embedded, WindowFacts, WindowKey, keyed_windows, replace_windows


def restored(embedded: Embedded) -> Run:
    """Return the record in which every thinned window has all its calls again, and every launch its projection.

    Such a window has as many calls as it had, before it and in it, and their median: all that an analysis takes from it
    but the upper quantiles of a result, which `with_tails` restores.
    """
    if not embedded.thinned:
        return embedded.record
    known = {
        (thinned.result, (facts.arm, facts.generation, facts.round, facts.attempt)): facts
        for thinned in embedded.thinned
        for facts in thinned.windows
    }

    def restore(case: str, key: WindowKey, window: Window) -> Window:
        facts = known.get((f"{key[0]}/{case}", key))
        return window if facts is None else restore_window(window, facts)

    held = embedded.record.blocks
    blocks = projections.everywhere(held) if embedded.projections_once else held
    restored_blocks = (replace_windows(block, partial(restore, block.case.id)) for block in blocks)
    return msgspec.structs.replace(embedded.record, blocks=tuple(restored_blocks))


def restore_window(window: Window, facts: WindowFacts) -> Window:
    """Return a window with as many calls as it had before it was thinned, and with the same median."""
    below, above = math.floor(facts.median_ns), math.ceil(facts.median_ns)
    half = facts.calls // 2
    return msgspec.structs.replace(
        window,
        samples_ns=(below,) * half + (above,) * (facts.calls - half),
        rewarm_ns=window.rewarm_ns[:1] * facts.rewarm_calls,
    )


def with_tails(analysis: Analysis, embedded: Embedded) -> Analysis:
    """Return an analysis of a restored record with the upper quantiles that travel beside it."""
    stated = {thinned.result: thinned.tail for thinned in embedded.thinned}
    blocks = tuple(
        msgspec.structs.replace(
            block,
            rows=tuple(
                msgspec.structs.replace(row, p90_ns=tail.p90_ns, p99_ns=tail.p99_ns)
                if (tail := stated.get(f"{row.arm}/{block.case.id}")) is not None
                else row
                for row in block.rows
            ),
        )
        if isinstance(block, TimedBlock)
        else block
        for block in analysis.blocks
    )
    return dataclasses.replace(analysis, blocks=blocks)


def unsupported(embedded: Embedded) -> Iterator[str]:
    """Yield the thinned results whose kept samples contradict the stated facts of their windows.

    A window's median lies between the least and the greatest of its calls. With twenty samples or more, evenly taken,
    it lies between those of them; a periodic signal may break this in a window, but hardly in a tenth of them.
    """
    kept: dict[WindowKey, Window] = {
        (f"{arm}/{block.case.id}", generation, number, attempt): window
        for block in embedded.record.blocks
        for (arm, generation, number, attempt), window in keyed_windows(block)
    }
    for thinned in embedded.thinned:
        compared = outside = 0
        for facts in thinned.windows:
            window = kept.get((thinned.result, facts.generation, facts.round, facts.attempt))
            samples = window.samples_ns if window is not None else ()
            if len(samples) > facts.calls or (window is None):
                outside = compared = 1
                break
            if len(samples) >= 20 and facts.median_ns > 0:
                compared += 1
                outside += not min(samples) <= facts.median_ns <= max(samples)
        sizes = (
            sum(len(window.samples_ns) for key, window in kept.items() if key[0] == thinned.result),
            sum(facts.calls for facts in thinned.windows),
        )
        if outside * 10 > compared or sizes != (thinned.kept, thinned.of):
            yield thinned.result
