"""The first screen in words: the fastest arm of each model, by how much, and whether to believe it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import BlockStates, ConvergenceBlock, Estimate, LoadGenBlock, TimedBlock
from levelfield.record import warnings as notices
from levelfield.record.schema import Case, Run
from levelfield.report import names, sentences, states, units
from levelfield.report.sentences import Relation

Main: TypeAlias = TimedBlock | ConvergenceBlock | LoadGenBlock

CLOSE = 0.10
"""Difference up to which arms that are not separated are said to be so close; of a wider one the run could not tell."""
MOST_LINES, MOST_NAMED, MOST_CASES = 8, 2, 3
"""Most models that have a line, most arms and most cases that a line names one by one."""
NOTABLE = 0.10
"""Share of disturbed or contended windows from which it speaks against a run."""


class Answer(msgspec.Struct, frozen=True):
    """The line of one model."""

    model: str
    """Empty where the line is of the whole run."""
    text: str
    case: Case | None = None
    """What a reader filters it by."""


def title(analysis: Analysis) -> str:
    """Return the page's heading, of a dozen words at the most: `Latency: fastest of 7 arms on 3 models`."""
    chosen = [block for block in main(analysis) if block.best is not None]
    if not chosen:
        return "Nothing is ranked" if analysis.status.answers else "Nothing was measured"
    scenarios = {names.scenario_title(block.case) for block in chosen}
    models = list(dict.fromkeys(names.network(block.case) for block in chosen))
    arms = {row.arm for block in chosen for row in block.rows if row.standing != "control"}
    where = models[0] if len(models) == 1 else f"{len(models)} models"
    alone = any(len(sentences.order(block).level) == 1 for block in chosen)
    of = f"{units.plural(len(arms), 'arm')} on {where}"
    what = f"fastest of {of}" if alone else f"{of}, none fastest"
    loud = ", on a contended machine" if contended(analysis) else ""
    return f"{scenarios.pop()}: {what}{loud}" if len(scenarios) == 1 else f"{what[0].upper()}{what[1:]}{loud}"


def contended(analysis: Analysis) -> bool:
    """Whether what a run says is of a machine that others used."""
    return analysis.status.too_disturbed or (isinstance(analysis.states, BlockStates) and not _calm(analysis))


def answers(analysis: Analysis) -> tuple[Answer, ...]:
    """Return one line for each model in the scenario that matters most: who leads, and who follows how far behind."""
    chosen = main(analysis)
    if all(block.best is None for block in chosen):
        reason = f"Nothing is ranked: {chosen[0].unranked_reason}." if chosen else "No speed was measured."
        parity = sentences.parity(analysis)
        return (Answer("", f"{parity} {reason}" if analysis.status.answers else "Nothing was measured."),)
    models: dict[str, list[Main]] = {}
    for block in chosen:
        models.setdefault(names.network(block.case), []).append(block)
    lines = [Answer(model, _line(analysis, blocks), blocks[0].case) for model, blocks in models.items()]
    more = len(lines) - MOST_LINES
    if more <= 0:
        return tuple(lines)
    return (*lines[:MOST_LINES], Answer("", f"{units.plural(more, 'more model')}: see the tables."))


def overall(analysis: Analysis) -> str:
    """Return the main result on one line, model by model."""
    return " ".join(f"{each.model}: {each.text}" if each.model else each.text for each in answers(analysis))


def main(analysis: Analysis) -> Sequence[Main]:
    """Return the blocks that the main result is on."""
    timed = analysis.timed
    by_scenario = ([block for block in timed if block.case.scenario == name] for name in ("latency", "throughput"))
    return next(filter(None, by_scenario), timed) or analysis.convergence or analysis.loadgen


def _line(analysis: Analysis, blocks: Sequence[Main]) -> str:
    if len(blocks) == 1:
        return _sentence(analysis, blocks[0])
    if len(blocks) <= MOST_CASES:
        return " ".join(f"{_apart(block, blocks)}: {_sentence(analysis, block)}" for block in blocks)
    alone = Counter(str(block.best) for block in blocks if block.best and len(sentences.order(block).level) == 1)
    parts = [f"{arm} is fastest in {count}" for arm, count in alone.most_common(MOST_NAMED)]
    left = len(blocks) - sum(count for _, count in alone.most_common(MOST_NAMED))
    parts += [f"another or none alone in {left}"] if left else []
    return f"of {len(blocks)} cases, {'; '.join(parts)}."


def _apart(block: Main, among: Sequence[Main]) -> str:
    """Return what distinguishes a case from others of its model: `batch 8, bf16`."""
    case, cases = block.case, [other.case for other in among]
    parts = [names.scenario_title(case).lower()] if len({names.scenario_title(other) for other in cases}) > 1 else []
    parts += [f"batch {case.batch}"] if len({other.batch for other in cases}) > 1 else []
    return ", ".join([*parts, *sentences.precisions_apart(block, among)]) or case.device


def _sentence(analysis: Analysis, block: Main) -> str:
    if block.best is None:
        return f"{sentences.unranked(block)}."
    found = sentences.order(block)
    level, following, unplaced = found.level, found.following, found.unplaced
    tail = f"; next {following.arm}, {sentences.behind(following)}" if following is not None else ""
    tail += f"; {unplaced[0].arm} cannot be placed, {sentences.behind(unplaced[0])}" if unplaced else ""
    tail += f", nor can {len(unplaced) - 1} more" if len(unplaced) > 1 else ""
    if len(level) == 1:
        top = f"is first at {sentences.goal(block)}" if isinstance(block, ConvergenceBlock) else "is fastest"
        return f"{sentences.sole(block, top)}{tail}."
    named = [row.arm for row in level]
    few = named if len(named) <= MOST_NAMED + 1 else [*named[:MOST_NAMED], f"{len(named) - MOST_NAMED} more"]
    who = sentences.join(few)
    wide = max((row.ratio.high or 1 for row in level if row.ratio is not None), default=1.0) - 1
    within = f"within {units.percent(wide)} of {'each other' if len(level) == 2 else level[0].arm}"
    if all(sentences.relation(row) is Relation.EQUAL for row in level[1:]):
        return f"{who} are equal, {within}{tail}."
    if wide <= CLOSE:
        return f"{who}, {within}{tail}."
    apart = units.behind(Estimate(1 + wide))[0].removeprefix("+")
    return f"{who} are not separated, at most {apart} apart ({_remedy(analysis)} may tell){tail}."


def _remedy(analysis: Analysis) -> str:
    """Return what would make intervals narrower: a machine that others leave alone, or more launches."""
    quiet = disturbed_share(analysis) < NOTABLE and contended_share(analysis) < NOTABLE
    return "a longer run" if quiet else "a quieter machine"


# ---- whether to believe it -------------------------------------------------------------------------------------------


def disturbed_share(analysis: Analysis) -> float:
    """Return the share of disturbed rounds."""
    status = analysis.status
    return status.rounds_disturbed / max(1, status.rounds + status.rounds_disturbed)


def _calm(analysis: Analysis) -> bool:
    """Whether windows count in which the machine was calm, or in the one state that was seen."""
    if not isinstance(analysis.states, BlockStates) or analysis.states.knowledge == "contended throughout":
        return False
    return analysis.states.knowledge != "two states seen" or states.was_calm(analysis)


def contended_share(analysis: Analysis) -> float:
    """Return the share of windows in which the machine was not calm: all of them where it hardly ever was."""
    if isinstance(analysis.states, BlockStates) and not _calm(analysis):
        return 1.0
    counts = [row.counts for block in analysis.timed if states.is_calm(block) for row in block.rows]
    contended = sum(each.windows_not_calm for each in counts)
    return contended / max(1, contended + sum(each.windows for each in counts))


def trust(run: Run, analysis: Analysis) -> str:
    """Return the heading of what speaks for a result and against it."""
    against = len(reservations(run, analysis))
    return f"Can it be trusted? {units.plural(against, 'reservation') if against else 'Nothing speaks against it'}"


def reservations(run: Run, analysis: Analysis) -> tuple[str, ...]:
    """Return everything that the page knows against a result, each in a sentence; empty: there is nothing."""
    return tuple(dict.fromkeys(_against(run, analysis)))


def _against(run: Run, analysis: Analysis) -> Iterator[str]:
    status = analysis.status
    if status.answers_equal < status.answers:
        yield sentences.parity(analysis)
    if status.failed:
        yield f"{units.plural(len(status.failed), 'result')} failed."
    if failed := sentences.data_sets_failed(analysis):
        yield failed
    for block in analysis.timed:
        for control in block.controls:
            low, high = control.ratio.low, control.ratio.high
            if low is not None and high is not None and not low <= 1 <= high:
                yield (
                    f"On {sentences.named(block, analysis.timed)} the control, {control.of} a second time, was called "
                    f"different: their ratio is {control.ratio.value:.3f} ({low:.3f}–{high:.3f}), where the truth is 1."
                )
    if disturbed_share(analysis) >= NOTABLE:
        yield sentences.disturbed(analysis)
    if NOTABLE <= contended_share(analysis) < 1:
        yield f"A neighbour was busy in {units.percent(contended_share(analysis))} of the windows, which are left out."
    if analysis.timed and run.imported is None and not _calm(analysis):
        yield states.sentence(analysis)
    for image in run.images:
        if image.unlocked and image.name == "canary":
            yield f"The canary did not run from its lock: {image.unlocked.rstrip('. ')}."
    known = [warning.message for warning in analysis.warnings if warning.code == notices.KNOWN_WRONG]
    yield from known
    if others := len(analysis.warnings) - len(known):
        yield f"{units.plural(others, 'warning')} below, with what to do."


def facts(run: Run, analysis: Analysis, different: Sequence[object]) -> str:
    """Return what a reader should know beside the reservations; `different`: settings that differ between arms."""
    called = any("the control," in each for each in reservations(run, analysis))
    measured = any(each.ratio.low is not None for block in analysis.timed for each in block.controls)
    verb = "differs" if len(different) == 1 else "differ"
    found = (
        sentences.parity(analysis) if analysis.status.answers_equal == analysis.status.answers > 0 else "",
        sentences.disturbed(analysis) if disturbed_share(analysis) < NOTABLE else "",
        states.sentence(analysis) if _calm(analysis) else "",
        "The control, an arm measured twice, was not called different." if measured and not called else "",
        f"{units.plural(len(different), 'setting')} {verb} between arms." if different else "",
    )
    return " ".join(filter(None, found))


def canary_is_frozen(run: Run) -> bool:
    """Whether the canary ran in a container from its lock."""
    canaries = [image for image in run.images if image.name == "canary"]
    return bool(canaries) and all(image.launcher == "docker" and not image.unlocked for image in canaries)
