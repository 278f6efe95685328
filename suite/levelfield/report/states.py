"""In which state of the machine a run measured, and what contention would do, in words."""

from levelfield.analysis import Analysis
from levelfield.analysis.types import BlockStates, Estimate, RankedRow, Row, TimedBlock
from levelfield.record.schema import Absent
from levelfield.report import names, sentences, units

SLOWED = 1.05
"""Arms are not named where contention makes none of them slower by more."""


def sentence(analysis: Analysis) -> str:
    """Say in which state of the machine a run measured, and what contention would do; empty: it timed no windows.

    `Only calm windows count, while no neighbour was busy (90 % of 2 341 probes were calm); when one is, onnxruntime
    takes up to 1.65× as long (MLP, throughput), openvino 1.11×.`
    """
    found = analysis.states
    if found is None:
        return ""
    if isinstance(found, Absent):
        return f"The state of the machine during this run is not known: {found.reason.rstrip('.')}."
    probes = units.plural(found.probes, "probe")
    share = f"{units.percent(found.low_share)} of {probes}"
    differs = any(_unlike(block, analysis) or _starved(block, analysis) for block in analysis.timed)
    unlike = ", except where a case says otherwise" if differs else ""
    match found.knowledge:
        case "contended throughout":
            return (
                f"Contended throughout: only {share} were calm, so windows of every state count{unlike}; what the "
                "machine does when calm is not known."
            )
        case "one state seen":
            return (
                f"Measured in the one state of the machine that {probes} saw{unlike}: neither whether a neighbour was "
                "busy nor what contention would do is known."
            )
        case "two states seen" if was_calm(analysis):
            return (
                f"Only calm windows count, while no neighbour was busy ({share} were calm){unlike}; "
                f"{_contention(analysis)}."
            )
        case "two states seen":
            return (
                f"All windows count, whatever neighbours did{unlike}: too few were calm both before and after them "
                f"({share} were calm)."
            )


def of_case(block: TimedBlock, analysis: Analysis) -> str:
    """Say of a case what the run's sentence does not; empty where nothing is left to be said."""
    return " ".join(filter(None, (_unlike(block, analysis), _starved(block, analysis), _differ(block))))


def contended(row: RankedRow) -> str:
    """Return the cell of a row for its ratio while contended: `2.20× (2.02–2.40)`; empty: none is known."""
    return units.times(row.contended) if isinstance(row, Row) and row.contended is not None else ""


def not_calm(row: Row) -> str:
    """Return the windows that were left out since the machine was not calm, as the page's script reads them."""
    return " ".join(f"{generation}:{round_}:{attempt}" for generation, round_, attempt in row.not_calm)


def was_calm(analysis: Analysis) -> bool:
    """Whether the figures of a case are of windows in which no neighbour was busy."""
    return any(map(is_calm, analysis.timed))


def is_calm(block: TimedBlock) -> bool:
    return (
        block.states is not None and bool(block.states.calm) and not any(row.windows_of == "all" for row in block.rows)
    )


def _contention(analysis: Analysis) -> str:
    """Say what contention does to the arm that it slows most, and to the one that it slows least, each at its worst."""
    worst: dict[str, tuple[float, str]] = {}
    for block in analysis.timed:
        where = f"{sentences.named(block, analysis.timed)}, {names.scenario_title(block.case).lower()}"
        for row in block.rows:
            if row.slowed is not None and row.standing in {"ranked", "shown"}:
                worst[row.arm] = max(worst.get(row.arm, (0.0, "")), (row.slowed, where))
    if not worst:
        return "what contention would do is not known"
    by_factor = sorted(worst, key=worst.__getitem__)
    (most, where), (least, _) = worst[by_factor[-1]], worst[by_factor[0]]
    if most <= SLOWED:
        return f"when one is, no arm takes more than {_multiple(max(most, 1.0))} as long"
    other = f", {by_factor[0]} {_multiple(least)}" if len(worst) > 1 else ""
    return f"when one is, {by_factor[-1]} takes up to {_multiple(most)} as long ({where}){other}"


def _multiple(factor: float) -> str:
    return units.times(Estimate(factor))


def _unlike(block: TimedBlock, analysis: Analysis) -> str:
    """Say in which state a case was measured where it is not the run's."""
    states, of_run = block.states, analysis.states
    if not isinstance(of_run, BlockStates) or not block.generations:
        return ""
    if states is None:
        return "The machine was not probed here."
    if states.knowledge == of_run.knowledge and (states.calm or not was_calm(analysis)):
        return ""
    match states.knowledge:
        case "contended throughout":
            return "Contended throughout: too few probes until then were calm, so windows of every state count."
        case "one state seen":
            return "Only one state of the machine was seen until then: whether it was calm is not known."
        case "two states seen":
            calm = "Measured while the machine was calm."
            return calm if states.calm else "No window was calm both before and after it, so all of them count."


def _starved(block: TimedBlock, analysis: Analysis) -> str:
    if is_calm(block) or not was_calm(analysis) or block.states is None or not block.states.calm:
        return ""
    return "Some arms were not measured in the calm state in enough launches, so all figures here are of all windows."


def _differ(block: TimedBlock) -> str:
    arms = list(block.states.ranks_differ) if block.states is not None else []
    if not arms:
        return ""
    is_are = "is" if len(arms) == 1 else "are"
    return f"When a neighbour is busy, {sentences.join(arms)} {is_are} faster than {block.best}."
