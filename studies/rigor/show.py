"""The findings as Markdown, which docs/error-rates.md repeats."""

from collections.abc import Iterator, Sequence

from studies.rigor import rules
from studies.rigor.record import Between, Finding, Stream, Tally, Variance

HEADINGS = ("rule", "A/A called different", "A/A *same*", "+2 % found", "+5 % found", "time a decision", "groups")


def markdown(stream: Stream) -> str:
    """Return all tables, and what is needed to read them."""
    lines = [
        line
        for title, findings in _tables(stream)
        for line in (*([title, ""] if title else []), *table_lines(findings), "")
    ]
    return "\n".join([*lines, *(f"{line}\n" for line in _notes(stream))])


def table_lines(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of one table as Markdown, which docs/error-rates.md repeats."""
    rows = [HEADINGS, tuple("---" for _ in HEADINGS), *map(_cells, findings)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def _tables(stream: Stream) -> Iterator[tuple[str, Sequence[Finding]]]:
    """Yield the tables, each with its title: one, or one for each framework and one of both together."""
    yield ("Both frameworks:" if stream.frameworks else ""), stream.findings
    for each in stream.frameworks:
        yield f"{each.backend}:", [finding for finding in each.findings if finding.ours]


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
    arms = f"{setup.arms} arms of {' and '.join(setup.backends)}, {setup.case.model}, batch {setup.case.batch}"
    yield (
        f"{arms}, {setup.case.threads} threads, alive together; {count} generations, {setup.rounds} rounds of "
        f"{setup.window_ns / 1e9:g} s windows; {_hours(stream):.2f} h on "
        f"{stream.machine.get('cpu', {}).get('model', 'this machine')}, {_load(stream)}; seed {setup.seed}."
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
    yield (
        "A row is named after the command that decides so. `ab` stops when the 95 % interval is ±1 %, and judges its "
        "only case at a false discovery rate of 1 %: the interval that decides is one of 99 % for a difference, and of "
        "98 % for *same*, and may be wider than ±1 %. `bench` judges by the 95 % interval."
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
    if stream.between is not None:
        yield from _between(stream.between, stream.setup.backends)
    yield _goal(stream)


def _rules(stream: Stream) -> str:
    number = rules.of(stream.rules_sha256).number
    if not stream.rules_sha256:
        return f"Judged by rules {number}, which were written down after this stream was taken."
    return f"Judged by rules {number}, fixed before this stream was taken (SHA-256 {stream.rules_sha256[:16]}…)."


def _between(found: Between, backends: Sequence[str]) -> Iterator[str]:
    def listed(values: Sequence[float]) -> str:
        return ", ".join(f"{value:+.2f}" for value in values)

    first, second = backends
    shown = abs(found.averaged[0]) > found.reach
    yield (
        f"{first} over {second}: {found.ratio:.3f}, geometric mean. From generation to generation the difference of "
        f"their mean levels has a standard deviation of {found.averaged_sd:.2%}, that of two launches "
        f"{found.pair_sd:.2%}."
    )
    yield (
        f"Autocorrelation of that difference at 1 to {len(found.averaged)} generations: {listed(found.averaged)}; of "
        f"single pairs of launches: {listed(found.single)}; ±{found.reach:.2f} were there none. "
        + ("A drift between the frameworks is shown." if shown else "No drift between the frameworks is shown.")
    )
    for each in found.coverages:
        yield (
            f"{each.confidence:.0%} intervals of {each.launches} launches of both: {each.held} of {each.intervals} "
            f"held the mean of the stream; the autocorrelations of pairs imply {each.implied:.1%}, and the upper ends "
            f"of their intervals {each.implied_least:.1%}."
        )


def _hours(stream: Stream) -> float:
    if not stream.generations:
        return 0.0
    windows = [w for one in stream.generations[-1].rounds for pair in one.pairs for w in pair.windows]
    return max(window.start_ns + window.wall_ns for window in windows) / 3.6e12


def _load(stream: Stream) -> str:
    share = stream.setup.busy_share
    return f"beside a process that keeps one CPU busy {share:.0%} of the time" if share else "nothing else started"


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
    if found.order_p is not None:
        yield f"Does the place in the order of launching matter? Friedman's test: p = {found.order_p:.2g}."
    if found.covariate is not None:
        ratio = found.covariate.variance_ratio
        yield (
            f"The canary as a covariate leaves {ratio:.1%} of the variance of a pair's differences (slope "
            f"{found.covariate.slope:.2f}, by leaving generations out): "
            + ("it would narrow intervals." if ratio < NARROWER else "it narrows nothing, and is not used.")
        )


NARROWER = 0.95
"""Below this share of the variance a covariate is worth its complication."""


def _goal(stream: Stream) -> str:
    budget_s = rules.of(stream.rules_sha256).stop.budget_s
    reached = [
        f"{finding.rule} ({finding.tallies[0].decisions} decisions)"
        for finding in stream.findings
        if finding.ours and reaches_goal(finding, budget_s)
    ]
    goal = (
        f"Goal: A/A at most 1 %, +2 % found in 95 %, +5 % in 99 %, within {budget_s / 60:.0f} minutes a pair, and 80 % "
        "of A/A end as same. "
    )
    return goal + (f"Reached by the shares of: {'; '.join(reached)}." if reached else "No rule of ours reached it.")


def reaches_goal(finding: Finding, budget_s: float) -> bool:
    """Whether the shares (not their intervals) are as good as was asked.

    Parameters
    ----------
    finding : Finding
        Of one rule.
    budget_s : float
        Most machine time of a pair, seconds.

    Returns
    -------
    bool
    """
    still, two, five = finding.tallies
    if still.wanted is None or two.wanted is None or five.wanted is None or finding.seconds_most is None:
        return False
    return (
        still.wanted.share <= 0.01
        and still.same / still.decisions >= 0.8
        and two.wanted.share >= 0.95
        and five.wanted.share >= 0.99
        and finding.seconds_most <= budget_s
    )
