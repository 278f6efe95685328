"""`levelfield ab A B --bisect`: which distribution of two locks makes the difference between their images.

First both images are compared. The case in which they differ most is then measured again and again: A
against an image that takes some distributions from B and the rest from A, as `run.bisect` asks.

Which of several changes makes a difference? Delta debugging, with a judge that may also not know.

A difference between *none* of the changes and *all* of them is narrowed down to a smallest set that still makes it. The
judge is asked about sets of changes; it may answer that the set makes the difference, that it does not, that it cannot
tell, or that the set cannot be put together. Only the first answer narrows; so what is named was always measured to
make the difference by itself.

References
----------
A. Zeller, R. Hildebrandt (2002). Simplifying and isolating failure-inducing input. IEEE Transactions on Software
Engineering 28 (2), 183–200 (the algorithm ddmin).
"""

import enum
import itertools
import math
from collections.abc import Callable, Sequence

import msgspec
from rich.console import Console
from rich.markup import escape

from levelfield.compare.types import Gate, Row, Verdict
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, version_locks
from levelfield.images.catalogue import Lock
from levelfield.plan import arms as arm_names
from levelfield.record.schema import Arm
from levelfield.report.sentences import join
from levelfield.run.ab import AbResult, measure, show
from levelfield.run.options import Options


class Effect(enum.StrEnum):
    MAKES = "makes the difference"
    LEAVES = "makes none"
    UNDECIDED = "could not be told"
    IMPOSSIBLE = "cannot be installed together"


class Tried(msgspec.Struct, frozen=True):
    """One set that the judge was asked about."""

    names: tuple[str, ...]
    effect: Effect


class Finding(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    """A smallest set that makes the difference: no part of it that could be judged does."""
    rest: Effect | None
    """What all other changes do together; None: there are no others."""
    tried: tuple[Tried, ...]
    """In the order they were asked about."""

    @property
    def single(self) -> bool:
        """Whether one change alone makes the difference."""
        return len(self.names) == 1

    @property
    def impossible(self) -> tuple[tuple[str, ...], ...]:
        """Sets that could not be put together."""
        return tuple(each.names for each in self.tried if each.effect is Effect.IMPOSSIBLE)


def search(names: Sequence[str], judge: Callable[[frozenset[str]], Effect]) -> Finding:
    """Find a smallest set of changes that makes the difference which all of them make together.

    Raises ValueError: there are no changes.
    """
    if not names:
        raise ValueError("There is nothing to search among.")
    everything = tuple(dict.fromkeys(names))
    tried: dict[tuple[str, ...], Effect] = {everything: Effect.MAKES, (): Effect.LEAVES}

    def ask(chosen: Sequence[str]) -> Effect:
        ordered = tuple(name for name in everything if name in set(chosen))
        if ordered not in tried:
            tried[ordered] = judge(frozenset(ordered))
        return tried[ordered]

    current, parts = list(everything), 2
    while len(current) > 1:
        pieces = _split(current, parts)
        smaller = next((piece for piece in pieces if ask(piece) is Effect.MAKES), None)
        if smaller is not None:
            current, parts = smaller, 2
            continue
        without = [[name for name in current if name not in piece] for piece in pieces]
        smaller = next((piece for piece in without if ask(piece) is Effect.MAKES), None)
        if smaller is not None:
            current, parts = smaller, max(parts - 1, 2)
            continue
        if parts >= len(current):
            break
        parts = min(2 * parts, len(current))
    others = [name for name in everything if name not in current]
    rest = ask(others) if others else None
    return Finding(
        names=tuple(current),
        rest=rest,
        tried=tuple(Tried(each, effect) for each, effect in tried.items() if each not in {everything, ()}),
    )


def _split(names: list[str], parts: int) -> list[list[str]]:
    """Cut a list into so many pieces of nearly equal length."""
    edges = [round(len(names) * place / parts) for place in range(parts + 1)]
    return [names[low:high] for low, high in itertools.pairwise(edges) if high > low]


_DIFFERENT = {Verdict.SLOWER, Verdict.FASTER, Verdict.LESS_MEMORY, Verdict.MORE_MEMORY}
HALF = 0.5
"""A set of distributions makes the difference if its whole interval lies beyond this share of it (log scale), and makes
none if its whole interval lies on this side."""


class Bisection(msgspec.Struct, frozen=True):
    """Result of a bisection."""

    overall: AbResult
    """B against A."""
    case: Row | None
    """The case that was measured again; None: no case differs."""
    finding: Finding | None = None


def run_bisection(first: str, second: str, options: Options, gate: Gate, console: Console) -> Bisection:
    """Measure two arms, and search for the distribution that makes the difference.

    Raises LevelfieldError: the arms are not two locks of one image with the same settings, or nothing could be
    measured.
    """
    old, new = arm_names.parse(first), arm_names.parse(second)
    locks = _locks(old, new)
    changed = version_locks.changed(*locks)
    if not changed:
        raise LevelfieldError(
            f"{first} and {second} hold the same distributions.", fix="Name two versions that differ."
        )
    console.print(f"{len(changed)} distributions differ: {escape(', '.join(changed))}.", highlight=False)
    overall = measure(first, second, options, gate, console)
    show(overall, console, measured=True)
    case = clearest(overall.comparison.rows)
    if case is None or case.ratio is None:
        return Bisection(overall=overall, case=None)
    case_options, overall_log = _only(options, case), math.log(case.ratio.value)

    def judge(chosen: frozenset[str]) -> Effect:
        effect, row, reason = _try(old, locks, chosen, case_options, gate, overall_log, console)
        line = f"{join(sorted(chosen))} from B, the rest from A: {effect}"
        if row is not None and row.ratio is not None:
            line += f" ({row.ratio.value:.3f})"
        console.print(line + (f": {reason}" if reason else ""), markup=False, highlight=False)
        return effect

    return Bisection(overall=overall, case=case, finding=search(changed, judge))


def clearest(rows: tuple[Row, ...]) -> Row | None:
    """Return the case whose difference is largest relative to its own uncertainty, or None where none differs."""
    found = [row for row in rows if row.verdict in _DIFFERENT and row.ratio is not None]
    return max(found, key=_clearness, default=None)


def _clearness(row: Row) -> float:
    if row.ratio is None or row.ratio.low is None or row.ratio.high is None:
        return 0.0
    width = math.log(row.ratio.high) - math.log(row.ratio.low)
    return abs(math.log(row.ratio.value)) / width if width > 0 else math.inf


def effect_of(row: Row, overall_log: float) -> Effect:
    """Say whether a measured set of distributions makes the whole difference, none of it, or neither for certain."""
    if row.ratio is None or row.ratio.low is None or row.ratio.high is None:
        return Effect.UNDECIDED
    sign = 1.0 if overall_log > 0 else -1.0
    edges = sorted((sign * math.log(row.ratio.low), sign * math.log(row.ratio.high)))
    if edges[0] > HALF * abs(overall_log):
        return Effect.MAKES
    return Effect.LEAVES if edges[1] < HALF * abs(overall_log) else Effect.UNDECIDED


def _locks(old: Arm, new: Arm) -> tuple[Lock, Lock]:
    same = msgspec.structs.replace(new, version=old.version, ordinal=old.ordinal)
    if same != old:
        raise LevelfieldError(
            f"{old.id} and {new.id} differ in more than their locks, so no distribution can be made out.",
            fix="Name two versions of one backend, with the same settings.",
        )
    first, second = (catalogue.lock(arm.image, arm.variant, arm.version) for arm in (old, new))
    version_locks.check_mixable(first, second)
    return first, second


def _only(options: Options, row: Row) -> Options:
    """Ask for one case alone."""
    case, own = row.case, options.selection.own
    selection = msgspec.structs.replace(
        options.selection,
        models=(case.model,) if own is None else (),
        own=next((msgspec.structs.replace(each, also=()) for each in own.sized if each.model == case.model), None)
        if own
        else None,
        scenarios=(case.scenario,),
        precisions=(case.precision,),
        threads=(case.threads,),
        processes=(case.processes,) if case.processes > 1 else (),
        depths=(case.depth,) if case.depth else (),
        kv_caches=(case.kv_cache,) if case.depth else (),
        batches=(),
        batches_of={case.model: (case.batch,)},
        training_batches_of={case.model: (case.batch,)},
        decoding_batches_of={case.model: (case.batch,)},
        inject=None,
    )
    return msgspec.structs.replace(options, selection=selection, resume=None)


def _try(
    old: Arm,
    locks: tuple[Lock, Lock],
    chosen: frozenset[str],
    options: Options,
    gate: Gate,
    overall_log: float,
    console: Console,
) -> tuple[Effect, Row | None, str]:
    """Measure A against a mixture; return what it does, its row, and a reason that may explain it."""
    mixed = version_locks.mix(*locks, chosen)
    if problem := version_locks.conflict(mixed):
        return Effect.IMPOSSIBLE, None, problem
    other = msgspec.structs.replace(old, version=mixed.version, ordinal=1)
    (row,) = measure(old.id, other.id, options, gate, console).comparison.rows
    return effect_of(row, overall_log), row, row.reason


def conclusion(found: Bisection) -> str:
    """Say what the search came to, in a line."""
    if found.case is None or found.finding is None:
        return "There is no case in which the two are shown to differ, so there is nothing to search for."
    finding, where = found.finding, found.case.case.id
    named = join(finding.names)
    if finding.single:
        text = f"{named} makes the difference in {where}"
        text += {
            None: ": it is all that changed",
            Effect.LEAVES: ": the other changes together make none",
            Effect.MAKES: ", and so do the other changes without it",
            Effect.UNDECIDED: "; what the other changes do could not be told",
            Effect.IMPOSSIBLE: "; the other changes cannot be installed without it",
        }[finding.rest]
        return f"{text}."
    text = f"No single distribution was shown to make the difference in {where}: {named} make it together"
    if any(set(names) < set(finding.names) for names in finding.impossible):
        text += ", and some of these cannot be installed without the others"
    if any(each.effect is Effect.UNDECIDED for each in finding.tried):
        text += "; some sets could not be told apart (a larger --budget may)"
    return f"{text}."


def show_conclusion(found: Bisection, console: Console) -> int:
    console.print(conclusion(found), markup=False, highlight=False)
    code = found.overall.comparison.exit_code
    if found.finding is not None and not found.finding.single and code == 0:
        return 3
    return code
