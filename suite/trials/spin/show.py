"""The spin trial's findings as Markdown, which is read in the terminal too."""

from collections.abc import Iterator

from suite.plan import CANARY
from suite.report.markdown import table
from suite.statistics.proportions import Proportion
from suite.trials.spin.findings import SLOW, SPINNING
from suite.trials.spin.record import RULES, Finding, Trial


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
        ("model", "arm", "windows", *(f"call {place + 1}" for place in range(most))),
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
        spelled = ", ".join(f"{arm} {waited[len(waited) // 2]:.0f} ms" for arm, waited in waits.items() if waited)
        limited = sum(bool(window.busy) for window in cell.windows)
        yield (
            f"{cell.case.model}: {len(cell.windows)} windows of {cell.window_ns / 1e9:g} s. Median wait after "
            f"{spelled}; the limit was reached {limited} times.\n"
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
