"""Records for tests, changed in one place, and the rows that follow from them."""

from functools import partial

import msgspec

from levelfield.analysis import Analysis, analyse
from levelfield.analysis.types import Insights, Row
from levelfield.record.schema import Failure, Run
from tests.known import known
from tests.records_builder import make_run, with_launches, with_turns

CRASHED = Failure(stage="load", kind="crashed", message="The worker ended with signal 9.")


UNSUPPORTED = Failure(stage="load", kind="unsupported", message="It needs a C++ compiler.")


def rows(analysis: Analysis, place: int = 0) -> dict[str, Row]:
    return {row.arm: row for row in analysis.timed[place].rows}


def exact(**changes: object) -> Run:
    """A record without any noise: every figure is known beforehand."""
    return make_run(models=("resnet50",), noise_scale=0.0, **changes)  # type: ignore[arg-type]


def replace_launches(run: Run, arm: str, **changes: object) -> Run:
    """Change every launch of an arm, in every block."""
    return with_launches(run, lambda launch: msgspec.structs.replace(launch, **changes), arm)


def replace_windows(run: Run, arm: str, **changes: object) -> Run:
    """Change every timed window of an arm, in every block."""
    change = partial(msgspec.structs.replace, **changes)
    return with_turns(run, lambda turn: msgspec.structs.replace(turn, window=change(known(turn.window))), arm)


def derived(run: Run) -> Insights:
    return analyse(run).insights
