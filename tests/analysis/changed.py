"""Records for tests, changed in one place, and the rows that follow from them."""

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import Row
from levelfield.record.schema import Block, Failure, Generation, Launch, Run
from tests.records_builder import make_run

CRASHED = Failure(stage="load", kind="crashed", message="The worker ended with signal 9.")


UNSUPPORTED = Failure(stage="load", kind="unsupported", message="It needs a C++ compiler.")


def rows(analysis: Analysis, place: int = 0) -> dict[str, Row]:
    return {row.arm: row for row in analysis.timed[place].rows}


def exact(**changes: object) -> Run:
    """A record without any noise: every figure is known beforehand."""
    return make_run(models=("resnet50",), noise_scale=0.0, **changes)  # type: ignore[arg-type]


def replace_launches(run: Run, arm: str, **changes: object) -> Run:
    """Change every launch of an arm, in every block."""

    def launch(found: Launch) -> Launch:
        return msgspec.structs.replace(found, **changes) if found.arm == arm else found

    def generation(found: Generation) -> Generation:
        return msgspec.structs.replace(found, launches=tuple(map(launch, found.launches)))

    def block(found: Block) -> Block:
        return msgspec.structs.replace(found, generations=tuple(map(generation, found.generations)))

    return msgspec.structs.replace(run, blocks=tuple(map(block, run.blocks)))


def replace_windows(run: Run, arm: str, **changes: object) -> Run:
    """Change every timed window of an arm, in every block."""
    found = msgspec.to_builtins(run)
    for block in found["blocks"]:
        for generation in block["generations"]:
            for round_ in generation["rounds"]:
                for turn in round_["turns"]:
                    if turn["arm"] == arm:
                        turn["window"] |= changes
    return msgspec.convert(found, Run)
