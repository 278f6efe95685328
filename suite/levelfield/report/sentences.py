"""The verdicts in words, the same in the terminal and on the page."""

import enum
import itertools
import math
from collections.abc import Iterable, Sequence

import msgspec

from levelfield.analysis import Analysis, machine, types
from levelfield.analysis.ranks import UNREACHED
from levelfield.analysis.time_spent import COUNTED, TimeSpent
from levelfield.record.schema import Absent, Case, Imported, Run, Settings
from levelfield.report import names, units
from levelfield.statistics import windows
from levelfield.statistics.proportions import Proportion
from levelfield.statistics.verdicts import Verdict

ONE_BY_ONE = "Each call is of one item: its items a second are 1 ÷ latency, and no throughput."
IN_THESE_MINUTES = "in these minutes"
"""Note on the interval of one arm's own time: it holds for the run, not for another hour. Only ratios travel."""


class Relation(enum.StrEnum):
    """Relation of the best arm to another one, which every output takes from here."""

    EQUAL = "equal"
    """The interval of their ratio lies inside the margin: what difference there may be does not matter."""
    NOT_SEPARATED = "not separated"
    """It lies neither inside the margin nor apart from no difference: it is always shown with the word."""
    FASTER = "faster"
    """It excludes no difference."""


_RELATIONS = {Verdict.SAME: Relation.EQUAL, Verdict.UNDECIDED: Relation.NOT_SEPARATED, Verdict.SLOWER: Relation.FASTER}


def relation(row: types.RankedRow) -> Relation | None:
    """Return the relation of the best arm to this one; None where that is not known."""
    return _RELATIONS.get(row.verdict) if row.verdict is not None else None


def best_is(row: types.RankedRow, block: types.RankedBlock) -> str:
    """Return the relation of the best to a row; empty for the best itself and for rows without a rank."""
    known = relation(row)
    return known.value if known is not None and row.arm != block.best else ""


class Order(msgspec.Struct, frozen=True):
    """The ranked arms of a block, in the order of their estimates, as one may speak of them.

    No arm is named slower than one that is named level with the best: the launches of one may differ so much that it is
    not shown to be slower where another with a better estimate is.
    """

    level: tuple[types.RankedRow, ...]
    """The best, and those behind it that are equal to it or not separated, up to the first that is slower."""
    following: types.RankedRow | None
    """That one."""
    unplaced: tuple[types.RankedRow, ...]
    """Those further behind that are not shown to be slower."""


def order(block: types.RankedBlock) -> Order:
    """Return the order of the arms of a block that has a best one."""
    ranked = [row for row in block.rows if row.standing == "ranked" and row.ratio is not None]
    ranked.sort(key=lambda row: (row.arm != block.best, row.ratio.value if row.ratio is not None else 0.0))
    level = tuple(
        itertools.takewhile(lambda row: row.arm == block.best or relation(row) is not Relation.FASTER, ranked)
    )
    rest = ranked[len(level) :]
    return Order(level, rest[0] if rest else None, tuple(row for row in rest if relation(row) is not Relation.FASTER))


def named(block: types.BlockAnalysis, among: Sequence[types.BlockAnalysis]) -> str:
    """Return the name of a block's model: `ResNet-50`, or `ResNet-50 (bf16, 1 thread)` where blocks of it differ."""
    extras = precisions_apart(block, among)
    return names.network(block.case) + (f" ({', '.join(extras)})" if extras else "")


def precisions_apart(block: types.BlockAnalysis, among: Sequence[types.BlockAnalysis]) -> list[str]:
    """Return precision, threads and processes of a block, each only where other blocks of the model differ in it."""
    case = block.case
    others = [other.case for other in among if other.case.model == case.model]
    extras = [case.precision] if any(other.precision != case.precision for other in others) else []
    extras += [units.plural(case.threads, "thread")] if any(other.threads != case.threads for other in others) else []
    together = any(other.processes != case.processes for other in others)
    return extras + ([units.plural(case.processes, "process", "processes")] if together else [])


def verdict(block: types.TimedBlock, among: Sequence[types.TimedBlock] = ()) -> str:
    """Return a block's verdict, with its numbers: `openvino is fastest on BERT-base, batch 1: 69.0 ms …`."""
    case = block.case
    what = f", {names.scenario_title(case).lower()}" if case.depth else ""
    where = ", ".join([f"{names.model(case.model)}{what}{names.batch(case)}", *precisions_apart(block, among)])
    rows = {row.arm: row for row in block.rows}
    if block.best is None:
        return f"{where}{', training' if case.trains else ''}: {unranked(block)}."
    leaders = [rows[row.arm] for row in order(block).level]
    unit = f"{units.NBSP}{case.rate_unit}" if case.per_item else ""
    costs = join([f"{cost(row, case)}{unit}" for row in leaders])
    if len(leaders) > 1:
        where = f"{'in training' if case.trains else 'on'} {where}"
    else:
        top = "trains fastest" if case.trains else "is fastest"
        if case.per_item and not (case.trains or case.one_by_one):
            top = "has the highest throughput"
        where = f"{sole(block, top)} on {where}"
    return _ranked(block, where, f"{costs} {IN_THESE_MINUTES}")


def unranked(block: types.RankedBlock) -> str:
    """Return that a case is not ranked, and why."""
    why = block.unranked_reason
    return f"not measured: {why}" if why == UNREACHED else f"not ranked ({why})"


def convergence(block: types.ConvergenceBlock, among: Sequence[types.ConvergenceBlock] = ()) -> str:
    """Return the verdict on trainings to a target, with its numbers: `jax is first at 97.0 % on small MLP: …`."""
    where = ", ".join([names.network(block.case), *precisions_apart(block, among)])
    rows = {row.arm: row for row in block.rows}
    if block.best is None:
        return f"{where}, time to accuracy: {unranked(block)}."
    best = rows[block.best]
    steps = f"{units.digits(best.steps.value)} steps" if best.steps is not None else "no steps"
    cost = f"{units.time_with_interval(best.time_ns)} of training {IN_THESE_MINUTES} and {steps}"
    if len(order(block).level) > 1:
        return _ranked(block, f"in reaching {goal(block)} on {where}", f"{block.best} takes {cost}")
    return _ranked(block, f"{sole(block, 'is first')} at {goal(block)} on {where}", cost)


def loadgen(block: types.LoadGenBlock, among: Sequence[types.LoadGenBlock] = ()) -> str:
    """Return the verdict on a case that MLPerf LoadGen drove, with its numbers; it is no MLPerf result."""
    where = f"LoadGen {block.scenario} on {', '.join([names.network(block.case), *precisions_apart(block, among)])}"
    rows = {row.arm: row for row in block.rows}
    if block.best is None:
        return f"{where}: {unranked(block)}."
    best = rows[block.best]
    if best.per_second is not None:
        target = f" within {units.time(block.target_ns)}" if block.target_ns is not None else ""
        value = f"{units.rate_with_interval(best.per_second)}{units.NBSP}{block.case.rate_unit}{target}"
    else:
        share = "99th" if block.scenario == "MultiStream" else "90th"
        value = f"{units.time_with_interval(best.value_ns)} at the {share} percentile"
    cost = f"{value} {IN_THESE_MINUTES}"
    if len(order(block).level) > 1:
        return _ranked(block, f"in {where}", f"{block.best} has {cost}")
    return _ranked(block, f"{sole(block, 'is fastest')} in {where}", cost)


def sole(block: types.RankedBlock, top: str) -> str:
    """Return what may be said of an arm that no other is level with: `openvino is fastest`."""
    others = [row for row in block.rows if row.standing == "ranked" and row.arm != block.best]
    return f"{block.best} {top if others else 'alone is ranked'}"


def _ranked(block: types.RankedBlock, where: str, cost: str) -> str:
    """Return which arm leads a block that is ranked, at what cost, and by how much."""
    found = order(block)
    others, following = found.level[1:], found.following
    if others:
        words = ((word, [row.arm for row in others if relation(row) is word]) for word in Relation)
        leading = ", ".join(f"{join([str(block.best), *arms])} are {word}" for word, arms in words if arms)
        more = join([f"{row.arm} takes {_more(row)}" for row in others])
        follows = f"; {following.arm} follows with {behind(following).removeprefix('+')}" if following else ""
        return f"{leading} {where}: {cost}; {more} more time than {block.best}{follows}."
    text = f"{where}: {cost}"
    if following is None or following.ratio is None:
        return f"{text}; no other arm could be ranked."
    if following.ratio.value >= units.MULTIPLE_FROM:
        return f"{text}; {following.arm} takes {behind(following)} the time."
    return f"{text}, {_more(following)} {Relation.FASTER} than {following.arm}."


def quantiles_absent(block: types.TimedBlock) -> str:
    """Say why rows of a block lack upper quantiles; empty where none does."""
    calls = [row.counts.calls for row in block.rows if row.call_ns is not None]
    reason = windows.quantiles_absent(min(calls)) if calls else ""
    if not reason:
        return ""
    return f"{reason[:1].upper()}{reason[1:]}: of fewer, not even the slowest bounds it from above (95 %)."


def title(case: Case) -> str:
    """`ResNet-50, latency, batch 1`."""
    return f"{names.model(case.model)}, {names.scenario_title(case).lower()}{names.batch(case)}"


def workers(case: Case) -> str:
    """`2 threads`, or `2 processes with 1 thread each`."""
    threads = units.plural(case.threads, "thread")
    if case.processes == 1:
        return threads
    return f"{units.plural(case.processes, 'process', 'processes')} with {threads} each"


def goal(block: types.ConvergenceBlock) -> str:
    """`97.0 %`: the accuracy that a block is trained to."""
    return units.accuracy(block.target) if block.target is not None else "the target"


def cost(row: types.RankedRow, case: Case) -> str:
    """Write what an arm is compared by: a time, or items per second without the unit."""
    return (units.rate_with_interval if case.per_item else units.time_with_interval)(types.compared(row, case)[0])


def full_cost(row: types.RankedRow, block: types.RankedBlock) -> str:
    """Write what an arm is compared by, a rate with its unit."""
    return (
        f"{cost(row, block.case)}{units.NBSP}{block.case.rate_unit}" if block.case.per_item else cost(row, block.case)
    )


def plain_cost(row: types.RankedRow, block: types.RankedBlock) -> str:
    """Write the time or rate of an arm in a case with its unit, without its interval; empty where it has none."""
    estimate, _ = types.compared(row, block.case)
    if estimate is None:
        return ""
    return (
        f"{units.rate(estimate.value)}{units.NBSP}{block.case.rate_unit}"
        if block.case.per_item
        else units.time(estimate.value)
    )


def _more(row: types.RankedRow) -> str:
    """Say how much more time than the best an arm takes: `9.8 % (0.0–22 %)`."""
    return units.slower(row.ratio) if row.ratio is not None else units.NO_VALUE


def behind(row: types.RankedRow) -> str:
    """Say how far behind the best an arm is: `+9.8 % (0.0–22 %)`, `3.40× (3.10–3.70×)`."""
    if row.ratio is None:
        return units.NO_VALUE
    value, bounds = units.behind(row.ratio)
    return value + (f" ({bounds})" if bounds else "")


def join(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def capitalised(text: str) -> str:
    """Return a text as it begins a sentence; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def where_measured(run: Run) -> str:
    """Return the launcher of the workers, and the reason where the user did not choose it; or the tool of a file."""
    if run.imported is not None:
        return imported(run.imported)
    settings = run.settings
    where = {
        "docker": "Measured in one pinned container per framework",
        "venv": "Measured in virtual environments, not in containers",
        "host": "Measured in the current interpreter, in neither containers nor locked environments",
    }[settings.launcher]
    reason = f": {settings.launcher_reason.rstrip('.')}" if settings.launcher_reason else ""
    reasons: dict[str, list[str]] = {}
    for image in run.images:
        if image.unlocked:
            reasons.setdefault(image.unlocked.rstrip(". "), []).append(image.name)
    unlocked = "; ".join(f"{join(images)} ({why})" for why, images in reasons.items())
    others = _other_launchers(run)
    return f"{where}{reason}{others}." + (f" Not what a lock says: {unlocked}." if unlocked else "")


def imported(file: Imported) -> str:
    """Say that another tool measured a run, and what its file does not say."""
    version = "" if isinstance(file.version, Absent) else f" {file.version}"
    lacks = f" Not in the file: {'; '.join(file.unknown)}." if file.unknown else ""
    left_out = f" Left out: {'; '.join(file.left_out[:_MOST_LEFT_OUT])}" if file.left_out else ""
    more = len(file.left_out) - _MOST_LEFT_OUT
    rest = f"; and {more} more." if more > 0 else "." if left_out else ""
    return (
        f"Imported from a file of {file.tool}{version}: Levelfield measured none of it and compared no output with a "
        f"reference.{lacks}{left_out}{rest}"
    )


_MOST_LEFT_OUT = 5


def timed_region(run: Run) -> str:
    """Return where inputs and outputs of timed calls are, in host memory or on the GPU."""
    timed = [block.case for block in run.blocks if block.case.timed]
    there = [case for case in timed if case.stays_on_device]
    on_device = "array in the GPU's memory in, completed array in the GPU's memory out"
    if not there:
        return run.settings.timed_region
    if len(there) == len(timed):
        return on_device
    names = join([*dict.fromkeys(case.definition.title for case in there)])
    return f"{run.settings.timed_region}; {names}: {on_device}"


def _other_launchers(run: Run) -> str:
    """Return the arms with another launcher than the run's: `; onnxruntime+launcher=venv in …`."""
    launchers = {"docker": "in containers", "venv": "in virtual environments", "host": "in the current interpreter"}
    arms = {arm.id: arm.launcher for block in run.blocks for arm in block.arms if arm.launcher}
    found = {name: launcher for name, launcher in arms.items() if launcher != run.settings.launcher}
    return "".join(f"; {name} {launchers[launcher]}" for name, launcher in found.items())


def parity(analysis: Analysis) -> str:
    """Say how many answers equal the reference: `All 21 answers are equal to the reference.`."""
    status = analysis.status
    if not status.answers_compared and not status.answers_doubted:
        return "No answer was compared with the reference."
    if status.answers_equal == status.answers:
        which = "The one answer is" if status.answers == 1 else f"All {status.answers} answers are"
        return f"{which} equal to the reference."
    parts = [f"{status.answers_equal} of {status.answers} answers equal the reference"]
    wrong, doubted = status.answers_compared - status.answers_equal, status.answers_doubted
    missing = status.answers - status.answers_compared - doubted
    parts += [f"{wrong} {'does' if wrong == 1 else 'do'} not"] if wrong else []
    parts += [f"{doubted} cannot be judged, since two references disagree"] if doubted else []
    parts += [f"{missing} {'was' if missing == 1 else 'were'} not compared"] if missing else []
    return f"{', '.join(parts)}."


def data_sets_failed(analysis: Analysis) -> str:
    """Say how many answers to data sets mean nothing; empty where all mean something."""
    failed = len(analysis.status.data_sets_failed)
    return (
        f"Answers to data sets failed, or are of a worker that is not equal to the reference: {failed}."
        if failed
        else ""
    )


def disturbed(analysis: Analysis) -> str:
    """Say what became of the disturbed rounds; empty where there were none."""
    status = analysis.status
    if not status.rounds_disturbed:
        return ""
    total = status.rounds + status.rounds_disturbed
    fate = machine.fate(status.rounds_disturbed, status.rounds_kept)
    return f"{status.rounds_disturbed} of {total} rounds were disturbed from outside and {fate}."


def precision(half_width: float) -> str:
    """Say how narrow the intervals became by which the schedule decides when to stop (half-width, log scale)."""
    return (
        "Measuring stops when the 95 % interval of every ratio of two arms is narrow enough, or at the budget; at the "
        f"end the widest was ±{units.percent(math.expm1(half_width))}."
    )


def crossed(block: types.RankedBlock) -> str:
    """Say why an arm is not shown to be slower where one with a better estimate is; empty where none is."""
    found = order(block)
    if found.following is None or not found.unplaced:
        return ""
    wide, slower = found.unplaced[-1], found.following
    return (
        f"{wide.arm} ({_estimate(wide)}) is not shown to be slower, {slower.arm} ({_estimate(slower)}) is: the "
        f"launches of {wide.arm} differ more, which widens its interval."
    )


def outranked(block: types.RankedBlock) -> str:
    """Say why an arm that is not separated from the best has no first rank; empty where all that are have it."""
    found = [row.arm for row in block.rows if (row.rank or 1) > 1 and relation(row) is Relation.NOT_SEPARATED]
    if not found:
        return ""
    is_are = "is" if len(found) == 1 else "are"
    return f"{join(found)} {is_are} not of rank 1: an arm other than {block.best} is shown to be faster."


def _estimate(row: types.RankedRow) -> str:
    return units.behind(types.Estimate(row.ratio.value))[0] if row.ratio is not None else units.NO_VALUE


def windows_left_out(counts: types.Counts) -> str:
    """Return how many windows of an arm count nowhere, and why: `2 disturbed, 1 warming`."""
    left_out = {
        "disturbed": counts.windows_disturbed,
        "warming": counts.windows_warming,
        "failed": counts.windows_failed,
    }
    return ", ".join(f"{number} {why}" for why, number in left_out.items() if number) or "0"


def launches(blocks: Sequence[types.TimedBlock]) -> str:
    """Return how many launches the arms of these blocks had: `6`, or `5 to 6` where not all are equal."""
    counts = [row.launches for block in blocks for row in block.rows]
    fewest, most = min(counts, default=0), max(counts, default=0)
    return str(most) if fewest == most else f"{fewest} to {most}"


def cases_together(analysis: Analysis) -> str:
    """Say what several ranked cases of a run do to the level of each; empty where one is ranked at the most."""
    ranked = sum(block.best is not None for block in (*analysis.timed, *analysis.convergence, *analysis.loadgen))
    if ranked < 2:
        return ""
    return (
        f"Each of the {ranked} cases is a question of its own, and they are not corrected for one another: in up to "
        f"{100 * (1 - 0.95**ranked):.0f}{units.NBSP}% of runs a false claim is made in one of them or more."
    )


def ended(settings: Settings) -> str:
    """Say what was allowed to end the measurement of a case."""
    if settings.precision_target is not None:
        return f"as soon as every ratio was known within ±{units.percent(settings.precision_target)}"
    if settings.ends_on_verdict:
        return "as soon as there was a verdict"
    if settings.clock_seconds is not None:
        return f"with the last pass over all cases that fits into {units.duration(settings.clock_seconds)}"
    return "once the lead of the best was known" if settings.races else "a fixed number of generations"


def identical(analysis: Analysis) -> str:
    """Say what identical arms were called over this run and those before it; empty where none had a control."""
    pooled = analysis.identical
    if pooled is None:
        return ""
    over = "one comparison" if pooled.draws == 1 else f"{pooled.draws} comparisons, earlier runs included"
    ratio = units.within(pooled.ratio, "{:.3f}".format)
    text = f"Identical arms on this machine ({over}): their ratio is {ratio}, where the truth is 1"
    if pooled.different is not None:
        text += f"; called different in {_share(pooled.different)}"
    return f"{text}."


def _share(found: Proportion) -> str:
    """`0 of 40 (95 %: 0.0–8.8 %)`."""
    return f"{found.successes} of {found.trials} (95 %: {100 * found.low:.1f}–{100 * found.high:.1f}{units.NBSP}%)"


def supervisor(share: float | Absent) -> str:
    """`0.21 % of a core`, or why it is not known."""
    if isinstance(share, Absent):
        return f"not known: {share.reason}"
    return f"{100 * share:.2f} % of a core"


def time_spent(spent: TimeSpent) -> str:
    """Say how much of a run's time lies inside windows that count, and what took the most of the rest."""
    rest = [part for part in spent.parts if part.what != COUNTED][:3]
    named = join([f"{part.what} ({units.percent(part.share)})" for part in rest])
    inside = f"Of {units.duration(spent.seconds)}, {units.percent(spent.counted_share)} lie inside windows that count."
    return f"{inside} The most of the rest: {named}." if rest else inside


LABELS = {
    "smoke": "A smoke run: it shows whether everything works and computes the same. It ranks nothing.",
    "emulated": "The processor was emulated: no time in this report says anything about a real one.",
    "injected": "An arm of this run was slowed down on purpose, to test the method. It is no result.",
    "so-far": "A first ranking, of the two backends whose images are soonest made: the others were not measured.",
    "demonstration": "A demonstration: not to be cited as a result.",
}


def labels(names: Iterable[str]) -> list[str]:
    """Say what a labelled run may not be used for; of one of `ab` there is nothing to say."""
    return [LABELS.get(name, f"This run is labelled: {name}.") for name in names if name != "ab"]
