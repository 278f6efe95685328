"""How long a tool takes to decide whether two arms differ, and how often it is wrong where the truth is known.

Two tools decide at all. `levelfield ab` is called as on the command line, with its own defaults, on the same thing
twice and on the same thing with a slowdown. pyperf takes series with its own defaults (20 processes with three values
each), one after the other, and `pyperf compare_to` judges two of them: a series and the next, then that one and a
series in which every call ends with a busy-wait. Images are there before: to make one is no part of a time.
"""

import time
from collections.abc import Callable, Iterator
from itertools import chain

from studies.ab import call
from studies.overhead.contestants import Target
from studies.peers.answers import PYPERF, in_image
from studies.peers.cells import QUICK_PROCESSES
from studies.peers.pyperf import Pyperf
from studies.peers.record import Decision, Truth
from studies.peers.workspace import Workspace
from studies.regressions.record import DIFFERENT
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.record.schema import Absent

EFFECT = 0.05
"""The slowdown, of a call."""
BACKEND = "onnxruntime"
"""Both tools decide on it: its launches are the shortest."""
AB, COMPARE_TO = "levelfield ab", "pyperf compare_to"
QUICK_BUDGET_S = 20.0


def decide(target: Target, workspace: Workspace, say: Callable[[str], None], *, quick: bool) -> Iterator[Decision]:
    """Let both tools decide once on nothing and once on the slowdown, pyperf first."""
    for found in chain(_by_pyperf(target, workspace, quick=quick), _by_ab(target, quick=quick)):
        say(f"{found.tool}, {found.truth}: {found.answer} after {found.seconds:.0f} s")
        yield found


def _by_pyperf(target: Target, workspace: Workspace, *, quick: bool) -> Iterator[Decision]:
    tool = Pyperf(in_image(target, PYPERF), workspace, QUICK_PROCESSES if quick else None)
    first, again = tool.series("first.json"), tool.series("again.json")
    slowed = tool.series("slowed.json", round(EFFECT * again.median_ns))
    pairs: tuple[tuple[Truth, str, str], ...] = (
        ("same", "first.json", "again.json"),
        ("slower", "again.json", "slowed.json"),
    )
    for (truth, old, new), before, after in zip(pairs, (first, again), (again, slowed), strict=True):
        began = time.monotonic()
        answer = answer_of_compare_to(tool.compare(old, new))
        shares = [each.supervisor_share for each in (before, after) if each.supervisor_share is not None]
        yield Decision(
            tool=COMPARE_TO,
            truth=truth,
            answer=answer,
            different=answer != NOT_SIGNIFICANT,
            found=answer == "slower",
            ratio=after.median_ns / before.median_ns,
            seconds=before.wall_s + after.wall_s + time.monotonic() - began,
            supervisor_share=sum(shares) / len(shares) if shares else None,
        )


NOT_SIGNIFICANT = "not significant"


def answer_of_compare_to(output: str) -> str:
    r"""Read what `pyperf compare_to` says of its one benchmark: faster, slower, or not significant.

    Examples
    --------
    >>> answer_of_compare_to("Benchmark hidden because not significant (1): bert")
    'not significant'
    >>> answer_of_compare_to("Mean +- std dev: [first] 80.1 ms +- 0.9 ms -> [again] 84.1 ms +- 1.1 ms: 1.05x slower")
    'slower'
    """
    if NOT_SIGNIFICANT in output.lower():
        return NOT_SIGNIFICANT
    for answer in ("slower", "faster"):
        if f"x {answer}" in output:
            return answer
    raise LevelfieldError("pyperf compare_to gave no answer.", fix=f"It said: {output[-800:]}")


def _by_ab(target: Target, *, quick: bool) -> Iterator[Decision]:
    second = f"{BACKEND}#2"
    pairs: tuple[tuple[Truth, tuple[str, str] | None], ...] = (
        ("same", None),
        ("slower", (f"{EFFECT:.0%}", second)),
    )
    for truth, inject in pairs:
        result, seconds = call(
            BACKEND,
            BACKEND,
            gate=Gate(),
            budget_seconds=QUICK_BUDGET_S if quick else None,
            profile="smoke" if quick else "standard",
            models=(target.case.model,),
            scenarios=(target.case.scenario,),
            precisions=(target.case.precision,),
            batches=(target.case.batch,),
            threads=(target.case.threads,),
            inject=inject,
        )
        (row,) = result.comparison.rows
        share = result.run.supervisor_window_share
        yield Decision(
            tool=AB,
            truth=truth,
            answer=row.verdict.value,
            different=row.verdict in DIFFERENT,
            found=row.verdict.value == "slower",
            ratio=row.ratio.value if row.ratio else None,
            seconds=seconds,
            supervisor_share=None if isinstance(share, Absent) else share,
        )
