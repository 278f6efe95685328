"""How often a first call is slow, by the arm before it and by the rule: as numbers and as Markdown."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from studies.spin.record import RULES, Cell, Finding, Rule, Trial, Verdict, Warming, Window
from suite.plan import CANARY
from suite.report.markdown import table
from suite.statistics.proportions import Proportion, proportion

SLOW = 1.1
"""A first call is slow where it takes more than this times the median of the window's later calls."""
SPINNING = "onnxruntime"


def analyse(trial: Trial) -> Trial:
    """Return a record with its findings."""
    return msgspec.structs.replace(
        trial, findings=find(trial.cells), verdicts=verdicts(trial.cells), warming=warming(trial.cells)
    )


def find(cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """Count the windows of all frameworks, and those of the canary by themselves, by rule and by the arm before."""
    return tuple(
        _finding(cell, rule, before, arms, windows)
        for cell in cells
        for rule in RULES
        for before in cell.arms
        for arms in (tuple(arm for arm in cell.arms if arm != CANARY), (CANARY,))
        if (windows := _windows(cell, rule, before, arms))
    )


def verdicts(cells: Sequence[Cell]) -> tuple[Verdict, ...]:
    """Compare the windows after ONNX Runtime with those after the canary, over the arms that can follow both."""
    found: list[Verdict] = []
    for cell in cells:
        common = tuple(arm for arm in cell.arms if arm not in {SPINNING, CANARY})
        for rule in RULES:
            after = [_windows(cell, rule, before, common) for before in (SPINNING, CANARY)]
            if not all(after):
                continue
            spinning, canary = map(_slow, after)
            found.append(Verdict(cell.case.model, rule, common, spinning, canary, holds=spinning.share <= canary.high))
    return tuple(found)


def warming(cells: Sequence[Cell]) -> tuple[Warming, ...]:
    """Return how an arm's calls become fast in windows that begin without unrecorded calls."""
    found: list[Warming] = []
    for cell in cells:
        for arm in cell.arms:
            windows = [each for each in cell.windows if each.arm == arm and each.rule == "until still, no warm call"]
            if not windows:
                continue
            count = min(len(each.first_ns) for each in windows)
            ratios = np.median([[ns / each.later_ns for ns in each.first_ns[:count]] for each in windows], axis=0)
            found.append(Warming(cell.case.model, arm, len(windows), tuple(float(ratio) for ratio in ratios)))
    return tuple(found)


def _slow(windows: Sequence[Window]) -> Proportion:
    """Return the share of windows whose first call is slow."""
    return proportion(sum(each.first_ns[0] > SLOW * each.later_ns for each in windows), len(windows))


def _windows(cell: Cell, rule: Rule, before: str, arms: Sequence[str]) -> list[Window]:
    return [each for each in cell.windows if each.rule == rule and each.before == before and each.arm in arms]


def _finding(cell: Cell, rule: Rule, before: str, arms: tuple[str, ...], windows: Sequence[Window]) -> Finding:
    return Finding(
        model=cell.case.model,
        rule=rule,
        before=before,
        of=arms,
        slow=_slow(windows),
        mean_excess=float(np.mean([window.first_ns[0] / window.later_ns for window in windows]) - 1),
        waited_ns=float(np.median([window.waited_ns for window in windows])),
    )


def markdown(trial: Trial) -> str:
    """Return all tables and what is needed to read them."""
    return "\n".join(_lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    yield (
        f"First timed calls that took more than {SLOW:g} times the median of their window's later calls, by the arm "
        "whose window came before. In brackets: the exact 95 % interval. *Mean*: of the first call over that median, "
        "less one.\n"
    )
    by_row: dict[tuple[str, str, str], dict[str, Finding]] = {}
    for finding in trial.findings:
        of = "the canary" if finding.of == (CANARY,) else "the frameworks"
        by_row.setdefault((finding.model, of, finding.before), {})[finding.rule] = finding
    yield from table(
        ("model", "windows of", "after", *(heading for rule in RULES for heading in (rule, "mean"))),
        ((*row, *(cell for rule in RULES for cell in _cells(found.get(rule)))) for row, found in by_row.items()),
    )
    yield ""
    for verdict in trial.verdicts:
        yield (
            f"- {verdict.model}, {verdict.rule}: windows of {' and '.join(verdict.of)} after {SPINNING} "
            f"{_share(verdict.after_spinning)}, after the canary {_share(verdict.after_canary)}: "
            f"{'no worse' if verdict.holds else '**worse**'}, by the upper end of the canary's interval."
        )
    yield ""
    yield "Median call over the later ones in windows that begin without unrecorded calls, by its place:\n"
    most = max((len(each.ratios) for each in trial.warming), default=0)
    missing = [""] * most
    yield from table(
        ("model", "arm", "windows", *(f"call {i + 1}" for i in range(most))),
        (
            (each.model, each.arm, str(each.windows), *([f"{ratio:.3f}" for ratio in each.ratios] + missing)[:most])
            for each in trial.warming
        ),
    )
    yield ""
    yield from _notes(trial)


def _notes(trial: Trial) -> Iterator[str]:
    for cell in trial.cells:
        waits = {
            arm: sorted(w.waited_ns / 1e6 for w in cell.windows if w.before == arm and w.waited_ns) for arm in cell.arms
        }
        medians = ", ".join(f"{arm} {waited[len(waited) // 2]:.0f} ms" for arm, waited in waits.items() if waited)
        limited = sum(bool(window.busy) for window in cell.windows)
        yield (
            f"{cell.case.model}: {len(cell.windows)} windows of {cell.window_ns / 1e9:g} s. Median wait after "
            f"{medians}; the limit was reached {limited} times.\n"
        )
    yield (
        "The rules alternate at random in one run, two rounds, two and one of every five; the order of arms is random "
        f"in each round. The rule *until still* makes {trial.warm_calls} unrecorded calls or more, for "
        f"{trial.warm_ns / 1e6:g} ms or more. Launcher: {trial.launcher}; seed {trial.seed}; load average "
        f"{trial.load_before[0]:.1f} before, {trial.load_after[0]:.1f} after. Started {trial.started}.\n"
    )


def _cells(finding: Finding | None) -> tuple[str, str]:
    return ("–", "–") if finding is None else (_share(finding.slow), f"{100 * finding.mean_excess:+.1f} %")


def _share(found: Proportion) -> str:
    """Return `3 of 80 = 3.8 % (0.8–10.6)`."""
    return (
        f"{found.successes} of {found.trials} = {100 * found.share:.1f} % "
        f"({100 * found.low:.1f}–{100 * found.high:.1f})"
    )
