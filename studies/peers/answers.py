"""What other tools answer: the last line that their programs print, and the image that they run in."""

import msgspec

from studies.overhead.contestants import Target, last_answer
from studies.peers.inside.optimum_benchmark import ANSWER
from suite.errors import LevelfieldError
from suite.images.build import build

PYPERF, OPTIMUM_BENCHMARK = "peer-pyperf", "peer-optimum-benchmark"
"""Names of their images."""
TIMEOUT_S = 900.0
"""Most time of one run of a tool."""


class Answer(msgspec.Struct, frozen=True):
    """What a tool reports of a call, and what its supervisor took."""

    median_ns: float
    calls: int
    supervisor_share: float | None
    """CPU time of the tool's first process while it waited for those that are measured, as a share of one core."""
    wall_s: float


def in_image(target: Target, image: str) -> Target:
    """Return a target that runs in another tool's image."""
    return target._replace(other_image=build(image).tag)


def answer_of(output: str, name: str) -> Answer:
    """Read the last answer in what a program printed."""
    found = last_answer(output, ANSWER, Answer, name)
    if not found.median_ns > 0 or found.calls < 1:
        raise LevelfieldError(f"{name} answered that a call takes {found.median_ns} ns, of {found.calls} calls.")
    return found
