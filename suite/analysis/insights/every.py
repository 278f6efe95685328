"""What a run says beyond its rankings, each with the evidence that it rests on; nothing where that is missing."""

from collections.abc import Sequence

from suite.analysis.insights import ceilings, headroom, payback, resources, saturation, waiting
from suite.analysis.insights.types import Insights
from suite.analysis.types import BlockAnalysis
from suite.record.schema import Run


def derive(run: Run, blocks: Sequence[BlockAnalysis]) -> Insights:
    """Derive every insight that a record has the evidence for.

    Parameters
    ----------
    run
        The record.
    blocks
        What was said about each of its blocks.
    """
    found = ceilings.of(run)
    return Insights(
        ceilings=found,
        resources=resources.derive(run, blocks, found),
        payback=payback.derive(run, blocks),
        saturation=saturation.derive(blocks),
        headroom=headroom.derive(run, blocks),
        waiting=waiting.derive(run, blocks),
    )
