"""The state of the machine in a window: calm, contended or unsettled, and never by an arm's own times.

A shared machine is in one of a few states for a second or so: a neighbour computes on the sibling hardware thread, or
takes memory bandwidth, or the hypervisor is slow to give pages. The time of fixed work (`worker.machine_probe`)
is bimodal then: on the machine that these rules were made on, arithmetic took 1.00 to 1.05 of its best, or 1.4 to 1.6.
So *calm* is the low mode of this machine.

==========  ======================  ===================================================================================
part        calm up to              why this much
==========  ======================  ===================================================================================
arithmetic  1.10 of the low mode    between the two modes, and as far from the lower one as its own spread needs
memory      1.40                    with calm arithmetic, 98 of 100 probes lie below 1.25 on a machine with other work
pages       1.40                    on it; what they have to show, bandwidth taken and slow faults, is 1.7 and more
==========  ======================  ===================================================================================

A window is *calm* where the probes before and after it are, and no outside signal is beyond its limit in it
(`machine.disturbance`: what other programs of the same machine take is seen there). It is *contended* where an
outside signal is, or neither probe is calm; else *unsettled*. The low
mode is the 5th percentile of a run's probes, or that of earlier runs on this machine where it is lower: a run may lie
in one state from its beginning to its end. Less than a third of a run's probes in its low mode are no mode that a run
can be said to measure in: it is *contended throughout*, unless earlier runs had seen the low mode. Who has seen one
mode alone cannot know which one it is.

Every limit is fixed here, before the data that it is applied to.
"""

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from levelfield.record.schema import Block, MachineLevels, MachineProbe, Reason, Turn

CALM_ARITHMETIC = 1.10
CALM_MEMORY = 1.40
CALM_PAGES = 1.40
LOW_PERCENTILE = 5
LEAST_SHARE = 1 / 3
"""Share of a run's probes in its low mode, below which it is called contended throughout."""
HIGH_MODE = (1.25, 2.5)
"""Arithmetic between these of the low mode is in another mode. No spread of the low mode reaches so far, and a sibling
thread takes half of a core at the most: what takes longer waited for a CPU, which says nothing of the low mode."""
LEAST_HIGH_SHARE = 0.05
"""Share of the probes there from which on there is a second mode: less may be single interrupts."""
FEWEST_PROBES = 40
"""Fewer show no mode: the 5th percentile is then the least or the next to it."""

State: TypeAlias = Literal["calm", "contended", "unsettled"]
Knowledge: TypeAlias = Literal["two states seen", "one state seen", "contended throughout"]
"""What is known of a machine's modes.

two states seen
    By this run, or by earlier ones: the low mode is calm.
one state seen
    All probes are alike and nothing is known from before: it may be either.
contended throughout
    Too few of the run's probes lie in the low mode.
"""


class Judgement(msgspec.Struct, frozen=True):
    """The state of a window, and why it is not calm."""

    state: State
    reasons: tuple[Reason, ...] = ()


def levels(probes: Sequence[MachineProbe], kept: MachineProbe | None = None) -> MachineLevels | None:
    """Return the low modes of these probes; None where they are too few to show one."""
    if len(probes) < (FEWEST_PROBES if kept is None else 1):
        return None
    times = np.array([(each.arithmetic_ns, each.memory_ns, each.pages_ns) for each in probes], dtype=np.float64)
    low = np.percentile(times, LOW_PERCENTILE, axis=0, method="lower")
    if kept is not None:
        low = np.minimum(low, (kept.arithmetic_ns, kept.memory_ns, kept.pages_ns))
    ratios = times[:, 0] / low[0]
    return MachineLevels(
        arithmetic_ns=int(low[0]),
        memory_ns=int(low[1]),
        pages_ns=int(low[2]),
        probes=len(probes),
        low_share=float(np.mean(ratios <= CALM_ARITHMETIC)),
        high_share=float(np.mean((ratios > HIGH_MODE[0]) & (ratios <= HIGH_MODE[1]))),
        kept=kept is not None,
    )


def knowledge(known: MachineLevels) -> Knowledge:
    """Return what these levels say of the machine's modes."""
    if known.kept:
        return "two states seen"
    if known.low_share < LEAST_SHARE:
        return "contended throughout"
    return "two states seen" if known.high_share >= LEAST_HIGH_SHARE else "one state seen"


def excess(probe: MachineProbe, known: MachineLevels) -> tuple[Reason, ...]:
    """Return which parts of a probe took longer than they do when the machine is calm; none where it is."""
    parts = (
        ("arithmetic", probe.arithmetic_ns / known.arithmetic_ns, CALM_ARITHMETIC),
        ("memory", probe.memory_ns / known.memory_ns, CALM_MEMORY),
        ("pages", probe.pages_ns / known.pages_ns, CALM_PAGES),
    )
    return tuple(Reason(*part) for part in parts if part[1] > part[2])


def is_calm(arithmetic_ns: int, known: MachineLevels) -> bool:
    """Return whether arithmetic alone is calm: what is asked again and again while a window waits."""
    return arithmetic_ns <= CALM_ARITHMETIC * known.arithmetic_ns


def judge(turn: Turn, known: MachineLevels | None) -> Judgement | None:
    """Return the state of a window; None where a probe is missing, or nothing is known of the machine's modes."""
    before, after = turn.probed_before, turn.probed_after
    if not isinstance(before, MachineProbe) or not isinstance(after, MachineProbe) or known is None:
        return None
    first, last = excess(before, known), excess(after, known)
    found = first + last + turn.outside
    if not found:
        return Judgement("calm")
    return Judgement("contended" if turn.outside or (first and last) else "unsettled", found)


def probes_of(turns: Iterable[Turn]) -> list[MachineProbe]:
    """Return the probes around these turns."""
    around = (probe for turn in turns for probe in (turn.probed_before, turn.probed_after))
    return [probe for probe in around if isinstance(probe, MachineProbe)]


def levels_of(block: Block) -> MachineLevels | None:
    """Return the levels by which the windows of a block are judged; None: it was not probed.

    They are those of its last generation that has some, which rest on all probes of the run until then; of a block that
    was interrupted before, on its own probes.
    """
    recorded = [generation.levels for generation in block.generations if generation.levels is not None]
    if recorded:
        return recorded[-1]
    return levels(probes_of(turn for each in block.generations for round_ in each.rounds for turn in round_.turns))


def unlike(said: MachineLevels, made: Mapping[str, Sequence[int]], unseen: int) -> Iterator[str]:
    """Yield what levels cannot be of these probes.

    `made`: sorted times of each part of the probes until then.
    `unseen`: how many more there can have been.
    """
    count = len(made["arithmetic_ns"])
    if not count <= said.probes <= count + unseen:
        yield f"levels of {said.probes} probes, where {count} to {count + unseen} had been made"
        return
    for part, times_ns in made.items():
        if bisect.bisect_left(times_ns, getattr(said, part)) > said.probes * LOW_PERCENTILE / 100:
            yield f"too many probes are below the level of {part.removesuffix('_ns')}"
    low, *high = (
        bisect.bisect_right(made["arithmetic_ns"], each * said.arithmetic_ns) for each in (CALM_ARITHMETIC, *HIGH_MODE)
    )
    for share, least in ((said.low_share, low), (said.high_share, high[1] - high[0])):
        if not least - 1 <= share * said.probes <= least + said.probes - count + 1:
            yield f"{share:.0%} of the probes are said to lie where {least} of {count} do"
