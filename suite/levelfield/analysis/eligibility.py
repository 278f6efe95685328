"""Eligibility for ranking: an arm needs an answer that equals the reference, and enough launches."""

from collections.abc import Mapping
from typing import TypeAlias

from levelfield.analysis import collect, ranks
from levelfield.analysis.types import ArmRow, Standing
from levelfield.record.schema import Absent, Block, Parity, Run

Known: TypeAlias = Mapping[tuple[str, str, str], Parity]
"""(question, precision, arm) to the parity that holds for it."""
NO_FAULT = frozenset({"unsupported"})
"""Kinds of failure that are a reason for absence, not an error."""


def parities(run: Run) -> dict[tuple[str, str, str], Parity]:
    """Find each arm's worst parity per question and precision, over all blocks.

    A launch of the cold-start or memory scenario need not compare its output: the arm was compared in another block.
    A training is a question of its own.
    """
    found: dict[tuple[str, str, str], list[Parity]] = {}
    for block in run.blocks:
        for _, launch in collect.launches(block):
            if launch.parity is not None:
                found.setdefault((block.case.question, block.case.precision, launch.arm), []).append(launch.parity)
    return {key: max(of_arm, key=_badness) for key, of_arm in found.items()}


def _badness(parity: Parity) -> tuple[bool, float]:
    """Sort a parity that is not equal behind all others, and these by their relative error."""
    error = parity.relative_error
    return not parity.equal, float("inf") if isinstance(error, Absent) else error


def arm_row(block: Block, summary: collect.ArmSummary, known: Known, *, measured: int, needed: int | None) -> ArmRow:
    """Return an arm's standing with the reason for it, its parity and its last failure.

    `measured`: launches with at least one number. `needed`: launches that a ranking takes; None where nothing is
    ranked.
    """
    arm, failures = summary.arm, summary.failures
    own = [worker.parity for worker in summary.workers if worker.parity is not None]
    other = known.get((block.case.question, block.case.precision, arm.id))
    parity = max(own, key=_badness, default=other)
    standing, reason = _standing(summary, measured, parity, needed)
    if standing == "ranked" and ranks.original(arm, block) is not None:
        standing, reason = "control", "the same arm a second time, to see what no difference looks like"
    last = failures[-1] if failures else None
    return ArmRow(arm=arm.id, backend=arm.backend, standing=standing, reason=reason, parity=parity, failure=last)


def _standing(
    summary: collect.ArmSummary, measured: int, parity: Parity | None, needed: int | None
) -> tuple[Standing, str]:
    failures = summary.failures
    if not measured:
        if failures:
            last = failures[-1]
            return ("absent" if last.kind in NO_FAULT else "failed"), last.message
        reason = "no window was completed before the run ended" if summary.launches else "the run ended before its turn"
        return "absent", reason
    if parity is None:
        return "shown", "its output was not compared with the reference"
    if not parity.equal:
        return "unequal", parity.reason or "its output is not equal to the reference"
    if needed is None:
        return "shown", ""
    if measured < needed:
        lost = f"; {len(failures)} failed: {failures[-1].message}" if failures else ""
        return "shown", f"{measured} {'launch' if measured == 1 else 'launches'}, and a ranking takes {needed}{lost}"
    return "ranked", ""
