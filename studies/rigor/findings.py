"""What every rule makes of a stream, counted; and where the stream's variance lies."""

from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np
from scipy.special import betaincinv

from levelfield.statistics.arrays import InsufficientData
from levelfield.statistics.power import split_variance
from levelfield.statistics.proportions import proportion
from studies.rigor import rules
from studies.rigor.record import Answer, Finding, Outcome, Rule, Stream, Table, Tally, Variance
from studies.rigor.rivals import RULES
from studies.rigor.rules import Rules


def find(table: Table, frozen: Rules) -> tuple[Finding, ...]:
    """Apply every rule to a stream, without an effect and with each of them."""
    return tuple(apply(rule, table, frozen.effects) for rule in (*rules.ours(table, frozen), *RULES))


def apply(rule: Rule, table: Table, effects: Sequence[float]) -> Finding:
    """Apply one rule; a stream too short for its schedule gives no decision."""
    outcomes = {effect: rule.decide(table, 1 + effect) for effect in effects}
    seconds = [outcome.seconds for outcome in outcomes[0.0]]
    mean, most = float(np.mean(seconds)) if seconds else None, max(seconds, default=None)
    tallies = tuple(count(effect, each) for effect, each in outcomes.items())
    return Finding(rule.name, rule.schedule, rule.source, rule.ours, mean, most, tallies)


def count(effect: float, outcomes: Sequence[Outcome]) -> Tally:
    """Count what a rule said, and bound the share that matters.

    References
    ----------
    E. L. Korn, B. I. Graubard (1998). Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 24, 193–201 (the exact interval at an effective sample size).
    """
    answers = [outcome.answer for outcome in outcomes]
    wanted = sum(each == "slower" or (effect == 0 and each == "faster") for each in answers)
    clusters = len({outcome.cluster for outcome in outcomes})
    low, high = _exact(wanted / len(answers), clusters) if answers else (None, None)
    counts = {name: answers.count(name) for name in get_args(Answer)}
    share = proportion(wanted, len(answers)) if answers else None
    return Tally(effect, **counts, wanted=share, clusters=clusters, clustered_low=low, clustered_high=high)


def _exact(share: float, observations: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper–Pearson interval of a share of so many observations; the count need not be whole."""
    tail = (1 - confidence) / 2
    hits = share * observations
    low = 0.0 if share == 0 else float(betaincinv(hits, observations - hits + 1, tail))
    high = 1.0 if share == 1 else float(betaincinv(hits + 1, observations - hits, 1 - tail))
    return low, high


def variance(table: Table) -> Variance | None:
    """Split the variance of a stream; None where it is too short."""
    logs = np.log(table.median_ns)
    try:
        everything = split_variance(logs)
        pairs = [split_variance(logs[:, :, 2 * lane : 2 * lane + 2]) for lane in range(table.lanes)]
    except InsufficientData:
        return None
    return Variance(
        all_arms=everything,
        pair_window_sd=root_mean_square([pair.window_sd for pair in pairs]),
        pair_launch_sd=root_mean_square([pair.launch_sd for pair in pairs]),
        drift_over_generations_sd=float(logs.mean(axis=(1, 2)).std(ddof=1)),
    )


def root_mean_square(deviations: Sequence[float]) -> float:
    """Return the standard deviation whose square is the mean of the squares of several."""
    return float(np.sqrt(np.mean(np.square(deviations))))


HEADINGS = ("rule", "A/A called different", "A/A *same*", "+2 % found", "+5 % found", "time a decision", "groups")


def markdown(stream: Stream) -> str:
    """Return the table of all rules, and notes."""
    return "\n".join([*table_lines(stream.findings), "", *(f"{line}\n" for line in _notes(stream))])


def table_lines(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of one table as Markdown, which docs/error-rates.md repeats."""
    rows = [HEADINGS, tuple("---" for _ in HEADINGS), *map(_cells, findings)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def _cells(finding: Finding) -> tuple[str, ...]:
    by_effect = {tally.effect: tally for tally in finding.tallies}
    still = by_effect[0.0]
    return (
        finding.rule,
        _share(still),
        f"{still.same} of {still.decisions}" if finding.ours and still.decisions else "–",
        _share(by_effect[0.02]),
        _share(by_effect[0.05]),
        "–" if finding.seconds is None else f"{finding.seconds:.0f} s",
        str(still.clusters),
    )


def _share(tally: Tally) -> str:
    if tally.wanted is None:
        return "no decision"
    found = tally.wanted
    return f"{found.successes} of {found.trials} ({100 * found.low:.1f}–{100 * found.high:.1f} %)"


def _notes(stream: Stream) -> Iterator[str]:
    setup, count = stream.setup, len(stream.generations)
    arms = f"{setup.arms} arms of {setup.backend}, {setup.case.model}, batch {setup.case.batch}"
    yield (
        f"{arms}, {setup.case.threads} threads, alive together; {count} generations, {setup.rounds} rounds of "
        f"{setup.window_ns / 1e9:g} s windows; {_hours(stream):.2f} h on "
        f"{stream.machine.get('cpu', {}).get('model', 'this machine')}, nothing else started; seed {setup.seed}."
    )
    yield _rules(stream)
    yield (
        "Both arms of a pair are the same program. An effect is made by multiplying the recorded times of the second "
        "arm. Found: called slower; for A/A, called different either way. In brackets: the exact 95 % interval for "
        "independent decisions."
    )
    yield (
        "Decisions share no launch, and what the end of the stream cut off is none. Those of one group of generations "
        "share the machine's mood, so the interval is too narrow where a rule meets it; were each group one "
        f"observation: {_clustered(stream)}."
    )
    pairs = [pair for generation in stream.generations for one in generation.rounds for pair in one.pairs]
    yield (
        f"{sum(bool(pair.disturbed) for pair in pairs)} of {len(pairs)} rounds of a pair were disturbed from outside; "
        "ours leaves them out, and generations that have no others where enough have, and does not repeat them here."
    )
    if stream.lost:
        yield f"{len(stream.lost)} generations failed and are not used."
    if stream.variance is not None:
        yield from _variance(stream.variance)


def _rules(stream: Stream) -> str:
    number = rules.of(stream.rules_sha256).number
    if not stream.rules_sha256:
        return f"Judged by rules {number}, which were written down after this stream was taken."
    return f"Judged by rules {number}, fixed before this stream was taken (SHA-256 {stream.rules_sha256[:16]}…)."


def _hours(stream: Stream) -> float:
    if not stream.generations:
        return 0.0
    windows = [w for one in stream.generations[-1].rounds for pair in one.pairs for w in pair.windows]
    return max(window.start_ns + window.wall_ns for window in windows) / 3.6e12


def _clustered(stream: Stream) -> str:
    found = []
    for finding in stream.findings:
        still = finding.tallies[0]
        if still.clustered_low is not None and still.clustered_high is not None:
            name = finding.rule.split(":", maxsplit=1)[0]
            found.append(f"{name} {still.clustered_low:.1%}–{still.clustered_high:.1%} ({still.clusters})")
    return "; ".join(found) or "no decisions"


def _variance(found: Variance) -> Iterator[str]:
    split = found.all_arms
    yield (
        f"Variance: launch {split.launch_sd:.2%}, window {split.window_sd:.2%}, drift of rounds {split.round_sd:.2%}, "
        f"of generations {found.drift_over_generations_sd:.2%} (standard deviations); within neighbouring pairs: "
        f"launch {found.pair_launch_sd:.2%}, window {found.pair_window_sd:.2%}."
    )
