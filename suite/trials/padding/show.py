"""The padding trial's findings as Markdown, which is read in the terminal too."""

from collections.abc import Iterator

from suite.report.markdown import table
from suite.trials.padding.record import Finding, Spread, Trial


def markdown(trial: Trial) -> str:
    """Return the table, what it says, and what is needed to read it."""
    return "\n".join(_lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    yield (
        "Standard deviations of the logarithms, in percent: of launch levels; of launches, which is the same without "
        "what the noise of windows adds; and of windows within a launch.\n"
    )
    yield from table(
        ("model", "padding", "launches:", "levels:", "of launches:", "of windows:"),
        (
            (each.model, spread.treatment, str(spread.launches), *map(_percent, _deviations(spread)))
            for each in trial.findings
            for spread in each.spreads
        ),
    )
    yield ""
    for each in trial.findings:
        yield (
            f"- {each.model}: variance of levels, random ÷ fixed: {each.variance_ratio:.2f} "
            f"({each.ratio_low:.2f}–{each.ratio_high:.2f}), {_said(each)}. Correlation of level and length: "
            f"{each.correlation:+.2f} ({each.correlation_low:+.2f} to {each.correlation_high:+.2f}). "
            f"{each.disturbed_rounds} of {each.rounds} rounds were disturbed."
        )
    yield ""
    randomised = trial.machine.get("kernel", {}).get("address randomisation")
    arms = ", ".join(dict.fromkeys(cell.arm for cell in trial.cells))
    yield (
        f"Intervals at 95 %. Arm: {arms}; launcher: {trial.launcher}; kernel.randomize_va_space: {randomised}; seed "
        f"{trial.seed}; load average {trial.load_before[0]:.1f} before, {trial.load_after[0]:.1f} after. Started "
        f"{trial.started}, finished {trial.finished}.\n"
    )


def _said(found: Finding) -> str:
    if found.ratio_low > 1:
        return "padding adds variance"
    return "padding takes variance away" if found.ratio_high < 1 else "no difference shown"


def _deviations(spread: Spread) -> tuple[float, ...]:
    return spread.level_sd, spread.launch_sd, spread.window_sd


def _percent(sd: float) -> str:
    return f"{100 * sd:.2f}"
