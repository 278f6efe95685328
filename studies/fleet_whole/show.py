"""The trial of a whole fleet as Markdown: what was checked, then what was said of the slowed nodes."""

from collections.abc import Iterator

from studies.fleet_whole.record import Record, Replay, Slowed, SlowedResult
from suite.report.markdown import interval, table


def markdown(record: Record) -> str:
    """Return the findings and the slowed nodes as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# A whole fleet on one machine, {record.started[:10]}"
    yield ""
    yield (
        f"Ray {record.ray} with nodes of its own on this machine; launcher {record.launcher}, but for the bundle, "
        f"whose nodes use virtual environments. Options: `{record.plan}`; where nodes are slowed down, "
        f"`{record.slowed_plan}`. Seed {record.seed}. Load averages: "
        f"{_load(record.load_before)} before, {_load(record.load_after)} after."
    )
    yield ""
    holds = {True: "yes", False: "**no**", None: "–"}
    yield from table(
        ("checked", "holds", "seen"), ((each.statement, holds[each.holds], each.seen) for each in record.findings)
    )
    yield ""
    yield "## Slowed nodes among replayed peers"
    yield ""
    yield from _replay(record.replay)


def _load(values: tuple[float, float, float]) -> str:
    return ", ".join(f"{each:.1f}" for each in values)


def _replay(seen: Replay) -> Iterator[str]:
    yield (
        f"{seen.nodes} nodes with {seen.runs_each} runs each, replayed from records of this trial. A run measures one "
        "arm twice, in turns, and slows the second one down: that is the run of the slowed node, and the first is that "
        f"of its peers, which draw theirs from all without replacement. Nodes differ by {seen.node_sd:.1%}, drawn, "
        f"{seen.shared:.0%} of that variance common to all cases. *As measured*, runs scatter as this machine let "
        "them; with *drift taken off*, what both arms of a round have in common is the same in all rounds, and so is "
        f"the canary; runs of all nodes differ by {seen.run_sd:.1%}, drawn."
    )
    yield ""
    yield from table(
        ("case", "runs scatter by:", *(f"slowed by {float(each):.0%}, over the other arm:" for each in seen.paired)),
        (
            (name, f"{sd:.1%}", *(f"{each[name] - 1:+.1%}" for each in seen.paired.values()))
            for name, sd in seen.scatter.items()
        ),
    )
    yield ""
    headings = ("slowed by:", "kind", "draw:", "result", "to its peers", "verdict", "peers spread by:")
    yield from table(
        (*headings, "would be found:", "peers named"),
        (_row(fleet, result) for fleet in seen.fleets for result in fleet.results),
    )


def _row(fleet: Slowed, result: SlowedResult) -> tuple[str, ...]:
    return (
        f"{fleet.effect:.0%}",
        fleet.kind,
        str(fleet.draw + 1),
        result.result,
        interval(result.ratio, result.low, result.high, "{:.3f}".format),
        result.verdict,
        f"{result.spread:.1%}" if result.spread is not None else "–",
        f"{result.finds - 1:.0%}" if result.finds is not None else "none",
        ", ".join(fleet.others_named) or "–",
    )
