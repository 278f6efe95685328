"""The sides of a comparison: find and read runs, pair their arms and cases, and collect what each arm answered."""

import contextlib
import gc
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from levelfield.analysis import guarded
from levelfield.analysis.ranks import NO_FAULT_OF_AN_ARM
from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import Answer, Reduced, reduce
from levelfield.analysis.types import MeasuredIn, Standing
from levelfield.compare import contradictions
from levelfield.compare.effects import MIN_RUNS
from levelfield.compare.types import Outcome, Verdict
from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.record import files
from levelfield.record.schema import Arm, Case, Run
from levelfield.report.units import plural


def find(name: str, reports: Path) -> Path:
    """Return the record's file of a run that a person named. Raises LevelfieldError: no such run, or no record yet."""
    # As `verify` does, what was typed comes first. What this user may not look at hides no run that is there.
    for path in sorted((Path(name), reports / name), key=os.path.exists, reverse=True):
        if os.path.isfile(path):  # noqa: PTH113  (a folder may not be looked into)
            return path
        if files.has_record(path):
            return files.file_of(path)
        if os.path.isfile(path / files.JOURNAL):  # noqa: PTH113  (a name may be too long to be asked for)
            raise LevelfieldError(
                f"The run {path} was cut off before its record was written.", fix="Finish it with bench --resume."
            )
    if Path(name).is_dir():
        raise LevelfieldError(f"The folder {name} holds no record.", fix="Name a run's own folder.")
    raise unknown("run", name, [path.name for path in files.runs_in(reports)])


ONCE = "Name every run once: a run says nothing about how it would come out a second time."


def check_distinct(ids: Sequence[str]) -> None:
    """Refuse a run that is named twice, though by a copy (LevelfieldError): it would be taken for two."""
    twice = next((each for each in ids if ids.count(each) > 1), None)
    if twice is not None:
        raise LevelfieldError(f"The run {twice[:100]} is named twice.", fix=ONCE)


_TELLING = 3
"""Costs of launches, or marks, that two runs share to the last digit, and half of what either has: no coincidence."""


def originals(runs: Sequence[Reduced]) -> list[int]:
    """Return of each run the place of the first one that holds its measurements, whatever it is called: its own."""
    seen: dict[object, int] = {}
    sizes: list[int] = []
    found: list[int] = []
    for place, run in enumerate(runs):
        marks: set[object] = {
            (key, cost)
            for key, answer in run.answers.items()
            if run.cases[key[1]].timed and (len(answer.launch_costs) == 1 or len(set(answer.launch_costs)) > 1)
            for cost in answer.launch_costs
        } | run.marks
        shared = Counter(seen[mark] for mark in marks if mark in seen).most_common(1)
        sizes.append(len(marks))
        copied = [first for first, many in shared if many >= max(_TELLING, min(len(marks), sizes[first]) / 2)]
        found.append(found[copied[0]] if copied else place)
        for mark in marks:
            seen.setdefault(mark, place)
    return found


def check_measured_once(runs: Sequence[Reduced]) -> None:
    """Refuse runs that hold the same measurements, under whatever names (LevelfieldError): one would count twice."""
    for place, first in enumerate(originals(runs)):
        if runs[first].facts.id != runs[place].facts.id:
            raise LevelfieldError(
                f"The runs {runs[first].facts.id[:100]} and {runs[place].facts.id[:100]} hold the same measurements.",
                fix=ONCE,
            )


def load(file: Path) -> Reduced:
    """Read a record and keep what a comparison needs of it.

    Raises LevelfieldError: with one sentence: it cannot be read, is no record, or holds numbers that no measurement
    gives.
    """
    return from_content(files.content_of(file), str(file))


def from_content(content: bytes, name: str) -> Reduced:
    """Check the content of a record, which is not trusted, and keep what a comparison needs of it.

    Raises LevelfieldError: with one sentence: it is no record, contradicts itself, or holds numbers that no measurement
    gives.
    """
    with _without_garbage_collection():
        run = guarded.decode(content, name)
        with guarded.computing(name):
            check_agreement(run, name)
            return reduce(run, hashlib.sha256(content).hexdigest())


def check_agreement(run: Run, name: str) -> None:
    """Refuse a record that contradicts itself (LevelfieldError): no verdict follows from it."""
    for found in contradictions.of(run):
        raise LevelfieldError(
            f"The record {name} contradicts itself: {found}.",
            fix="Do not rely on it: it was changed after it was made, or damaged.",
        )


def load_all(records: Sequence[Path]) -> list[Reduced]:
    """Read records one after the other: only what is kept of each is in memory at a time."""
    return [load(record) for record in records]


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Put the collector off: looking through a record's million objects, none of them in a cycle, takes longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


Pair: TypeAlias = tuple[str, str]
"""Old and new arm id; empty where a side has none."""


def arms_of(runs: Iterable[Reduced]) -> dict[str, Arm]:
    """Return the arms of a side by their ids."""
    return {name: arm for run in runs for name, arm in run.arms.items()}


def pair_arms(old: Mapping[str, Arm], new: Mapping[str, Arm]) -> tuple[Pair, ...]:
    """Pair the arms of two sides.

    The same id comes first. What is left is paired where it differs by the version of its image alone, then by version
    and variant (`torch@cu12` and `torch@cu13`), each only where there is one such arm on either side: an upgrade must
    not be read as one arm removed and another added, and a guess must not be read as a match.

    Returns every arm of both sides once, in the order of the old side; those without a partner have an empty one.
    """
    partner: dict[str, str] = {arm: arm for arm in old if arm in new}
    for without in ({"version": None}, {"version": None, "variant": "cpu"}):
        taken = set(partner.values())
        left = _by_shape({name: arm for name, arm in old.items() if name not in partner}, without)
        right = _by_shape({name: arm for name, arm in new.items() if name not in taken}, without)
        for shape, names in left.items():
            if len(names) == len(right.get(shape, ())) == 1:
                partner[names[0]] = right[shape][0]
    taken = set(partner.values())
    alone = tuple(("", name) for name in new if name not in taken)
    return tuple((name, partner.get(name, "")) for name in old) + alone


def _by_shape(arms: Mapping[str, Arm], without: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Group the ids of arms by what is left of them without some of their fields, and without an injected slowdown."""
    found: dict[str, list[str]] = {}
    for name, arm in arms.items():
        found.setdefault(msgspec.structs.replace(arm, inject="", **without).id, []).append(name)
    return found


class SimilarCases:
    """Cases, to be found by others that differ from them by threads, processes, precision or device alone."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._found: dict[tuple[str, str, int], dict[str, Case]] = {}
        for case in cases:
            self._alike(case)[case.id] = case

    def _alike(self, case: Case) -> dict[str, Case]:
        return self._found.setdefault((case.model, case.scenario, case.batch), {})

    def to(self, case: Case) -> Case | None:
        """Return the one that is similar; None: there is none, or more than one."""
        found = self._alike(case)
        return next(iter(found.values())) if len(found) == 1 else None

    def remove(self, case: Case) -> None:
        del self._alike(case)[case.id]


def describe_difference(old: Case, new: Case) -> str:
    """Return in what two cases differ that are not the same question."""
    differences = []
    if old.threads != new.threads:
        differences.append(f"{old.threads} threads before, {new.threads} now")
    if old.processes != new.processes:
        differences.append(
            f"in {old.processes} process{'es' if old.processes > 1 else ''} before, in {new.processes} now"
        )
    if old.depth != new.depth:
        differences.append(f"at a depth of {old.depth} before, of {new.depth} now")
    if old.growing_cache != new.growing_cache:
        differences.append(f"with a {old.kv_cache} cache before, a {new.kv_cache} one now")
    if old.precision != new.precision:
        differences.append(f"{old.precision} before, {new.precision} now")
    if old.device != new.device:
        differences.append(f"on {old.device} before, on {new.device} now")
    return ", ".join(differences)


SLOWED = "its old runs were slowed down on purpose"
NOT_MEASURED = "a smoke run measures too little to judge speed by"
"""Reason of rows of runs that show that everything works, and whose times have no meaning."""
_TRUSTED = frozenset({"ranked", "shown", "control", "failed"})
"""Also what failed in some launches: the others have a cost, which is compared where the new side did not fail."""


class CaseResults(msgspec.Struct, frozen=True):
    """The answers of one side's runs to one case."""

    runs: int
    """All runs of the side, also those without an answer."""
    answers: tuple[Answer, ...]

    @property
    def trusted(self) -> tuple[Answer, ...]:
        """Answers that are equal to the reference and have a cost, one per run."""
        return tuple(answer for answer in self.answers if trusted_cost(answer) is not None)

    @property
    def costs(self) -> list[float]:
        """Costs of answers that are equal to the reference, one per run."""
        return costs_of(self.trusted)

    @property
    def lacking(self) -> str:
        """Say what of these runs is without a result, so that the rest proves nothing; empty: all have one."""
        found = len(self.trusted)
        if found < self.runs:
            return f"only {found} of {plural(self.runs, 'run')} have a result"
        return next((answer.lacking for answer in self.answers if answer.lacking), "")

    @property
    def unsupported(self) -> bool:
        return any(answer.failure == "unsupported" for answer in self.answers)

    def with_standing(self, standing: Standing) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if answer.standing == standing)


def trusted_cost(answer: Answer | None) -> float | None:
    """Return the cost of what answered equal to the reference; None where it did not, or not at all."""
    return answer.cost if answer is not None and answer.standing in _TRUSTED else None


def costs_of(answers: Iterable[Answer]) -> list[float]:
    return [answer.cost for answer in answers if answer.cost is not None]


def by_arm(runs: Sequence[Reduced]) -> dict[str, dict[str, CaseResults]]:
    """Collect the answers of a side: by arm id, then by case id."""
    found: dict[str, dict[str, list[Answer]]] = {}
    for run in runs:
        for (arm, case), answer in run.answers.items():
            found.setdefault(arm, {}).setdefault(case, []).append(answer)
    return {
        arm: {case: CaseResults(runs=len(runs), answers=tuple(answers)) for case, answers in cases.items()}
        for arm, cases in found.items()
    }


def first_reason(answers: Iterable[Answer]) -> str:
    """Return the first reason that any of these answers gives."""
    return next((answer.reason.rstrip(". ") for answer in answers if answer.reason), "")


def verdict_without_costs(before: CaseResults, after: CaseResults) -> tuple[Verdict, Outcome, str] | None:
    """Return the verdict on a case in which no costs can be compared; None where both sides have one."""
    unequal = before.with_standing("unequal"), after.with_standing("unequal")
    failed = before.with_standing("failed"), after.with_standing("failed")
    if unequal[1]:
        return Verdict.UNEQUAL, "undecided" if unequal[0] else "worse", first_reason(unequal[1])
    if failed[1] or (after.unsupported and before.costs):
        blameless = bool(failed[1]) and all(answer.failure in NO_FAULT_OF_AN_ARM for answer in failed[1])
        is_new = before.costs and not failed[0] and not blameless
        return Verdict.FAILED, "worse" if is_new else "undecided", reason_for_failure(after)
    if not after.costs:
        reason = first_reason(after.with_standing("absent")) or "the new side has no number"
        return Verdict.MISSING, "undecided", reason
    if before.costs:
        return None
    if unequal[0] and (other := different_digests(before.answers, after.answers)):
        return Verdict.INCOMPARABLE, "undecided", other
    if unequal[0]:
        return Verdict.MENDED, "fine", f"not equal to the reference before: {first_reason(unequal[0])}".rstrip(": ")
    if failed[0]:
        return Verdict.RECOVERED, "aside", f"the old side failed: {reason_for_failure(before)}"
    reason = first_reason(before.with_standing("absent")) or "the old side has no number"
    return Verdict.ADDED, "aside", reason


def reason_for_failure(results: CaseResults) -> str:
    """Return why a side failed, and in how many of its runs where it did not in all."""
    failed = results.with_standing("failed") or tuple(each for each in results.answers if each.failure is not None)
    failed = failed or results.with_standing("absent")
    some = f" (in {len(failed)} of {results.runs} runs)" if len(failed) < results.runs else ""
    return f"{first_reason(failed) or 'no reason was kept'}{some}"


_DIGESTS: tuple[tuple[str, Callable[[Answer], frozenset[str]]], ...] = (
    ("target accuracy is", lambda answer: answer.target),
    ("latency target is", lambda answer: answer.latency_target),
    ("inputs are", lambda answer: answer.inputs),
    ("weights are", lambda answer: answer.weights),
    ("model file is", lambda answer: answer.onnx),
    ("timed inputs are", lambda answer: answer.timed_inputs),
)


def different_digests(old: Iterable[Answer], new: Iterable[Answer], *, timed: bool = True) -> str:
    """Return why answers to one case are not answers to the same question; empty where they are.

    `timed`: whether another export of the same weights, and other inputs of timed calls, count: times may differ by
    them, answers must not.
    """
    old, new = tuple(old), tuple(new)
    for what, pick in _DIGESTS if timed else _DIGESTS[:-2]:
        first = frozenset[str]().union(*map(pick, old))
        second = frozenset[str]().union(*map(pick, new))
        if first and second and (first != second or len(first) > 1):
            return f"the {what} not the same ({_short(first)} before, {_short(second)} now)"
    return ""


def _short(digests: frozenset[str]) -> str:
    return " and ".join(digest[:12] for digest in sorted(digests)[:3])


def different_timed_region(old: Sequence[Reduced], new: Sequence[Reduced]) -> str:
    """Return that the timed regions of two sides include different work; empty where they are the same."""
    if {run.timed_region for run in old} != {run.timed_region for run in new}:
        return "what the timed region includes is not the same"
    return ""


_STATES: Mapping[MeasuredIn, str] = MappingProxyType(
    {
        "calm": "calm", "one state": "in the one state seen", "all": "rarely calm",
        "contended throughout": "contended throughout", "": "not probed", "disturbed": "disturbed from outside",
    }
)  # fmt: skip
"""What windows a result is of (`analysis.types.MeasuredIn`), as the state of the machine; the best to compare first."""


def of_one_state(phases: Sequence[Sequence[Answer]], fewest: Sequence[int]) -> tuple[Sequence[Sequence[Answer]], str]:
    """Return the answers of each phase that are of one state of the machine, or all, and why these are not compared.

    A ratio of two states hides a slowdown, or shows one that is none. Which state it was follows from probes, never
    from an arm's times. `fewest`: answers that each phase must have in that state, and more than half of its own: of a
    slow majority that was in another one, the rest says nothing.
    """
    counts = [Counter(answer.windows_of for answer in phase) for phase in phases]
    if len(set().union(*counts)) <= 1:
        return phases, ""
    for state in _STATES:
        if all(count[state] >= max(least, count.total() // 2 + 1) for count, least in zip(counts, fewest, strict=True)):
            return [[answer for answer in phase if answer.windows_of == state] for phase in phases], ""
    seen = (
        ", ".join(f"{word} in {count[state]}" for state, word in _STATES.items() if count[state]) for count in counts
    )
    return phases, f"the machine was {'; then '.join(seen)}"


def left_out(whole: Sequence[Sequence[Answer]], kept: Sequence[Sequence[Answer]]) -> str:
    """Say of how many answers of either side a ratio is that is not of all; empty where it is."""
    parts = [
        f"{len(some)} of {len(every)} {side} runs"
        for side, every, some in zip(("old", "new"), whole, kept, strict=True)
        if len(some) < len(every)
    ]
    return f"of {' and '.join(parts)}, {_STATES[kept[0][0].windows_of]}" if parts else ""


def why_not_judged(counts: tuple[int, int], labels: Iterable[str]) -> str:
    """Say why a ratio is not judged; empty where it will be."""
    if SMOKE in labels:
        return NOT_MEASURED
    if min(counts) >= MIN_RUNS:
        return ""
    if counts == (1, 1):
        return "from one run a side"
    return f"from {counts[0]} old and {counts[1]} new: {MIN_RUNS} runs a side are needed"
