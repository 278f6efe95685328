"""What a run says beyond its rankings, each with the evidence that it rests on; nothing where that is missing."""

from collections.abc import Sequence

from levelfield.analysis.insights import payback, resources, saturation
from levelfield.analysis.types import BlockAnalysis, Insights
from levelfield.record.schema import Run


def derive(run: Run, blocks: Sequence[BlockAnalysis]) -> Insights:
    """Derive every insight that a record has the evidence for."""
    ceilings = resources.ceilings(run)
    return Insights(
        ceilings=ceilings,
        resources=resources.derive(run, blocks, ceilings),
        payback=payback.derive(run, blocks),
        saturation=saturation.saturations(blocks),
        headroom=resources.headroom(run, blocks),
        waiting=saturation.waits(run, blocks),
        wrappers=payback.wrappers(run, blocks),
        explained=resources.explained(run, blocks),
    )
