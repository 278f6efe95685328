"""Tables of answers to data sets, for page and terminal: accuracy beside speed, disagreements, what was lost."""

from collections.abc import Iterable, Sequence

import msgspec

from levelfield.analysis import accuracy
from levelfield.analysis.accuracy import Judgement, Loss, Row, Score, Split
from levelfield.analysis.types import Analysis, TimedBlock
from levelfield.record.schema import DataSet, Run
from levelfield.report import names, sentences, units

TITLE = "Accuracy"
SHOWN = 12
"""Items that are named at the most where arms disagree; all of them follow from the record."""
_CORRELATIONS = ("Matthews correlation", "Pearson correlation", "Spearman correlation")
_KINDS = {"imagenet": ("picture", "pictures"), "squad": ("question", "questions")}


class Line(msgspec.Struct, frozen=True):
    """One arm: a cell for each column, as value and interval."""

    arm: str
    backend: str
    precision: str
    cells: tuple[tuple[str, str], ...]


class AccuracyTable(msgspec.Struct, frozen=True):
    """One data set on one device."""

    model: str
    title: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    loss_headings: tuple[str, ...]
    losses: tuple[Line, ...]
    """Empty: no arm answered in two precisions."""
    notes: tuple[str, ...]


def tables(run: Run, analysis: Analysis) -> tuple[AccuracyTable, ...]:
    """Return a table for each data set and device; none where no data set was answered."""
    return tuple(_table(run, analysis, found) for found in accuracy.summarise(run))


def lead(run: Run) -> str:
    """Say what the accuracies are of, and what their intervals mean."""
    seeded = (
        "Weights that are not the user’s own are seeded, not trained: what is right with them is right by chance, and "
        "only agreement says something. "
        if _seeded(run)
        else ""
    )
    return (
        f"{seeded}Every arm answered the same items before anything was timed, with the calls that are timed. "
        "Intervals are 95 %: of shares the exact one (Clopper and Pearson), of other measures by drawing the items "
        "again; they say what other items of this kind would change. A lower precision is compared with the same arm’s "
        "fp32 on the same items."
    )


def _seeded(run: Run) -> bool:
    own = {each.model for each in run.settings.own_weights}
    return any(each.model not in own for each in run.data_sets)


def _table(run: Run, analysis: Analysis, found: Judgement) -> AccuracyTable:
    known = found.data_set
    speeds = _speeds(analysis, found)
    arms = {arm.id: arm.backend for block in run.blocks for arm in block.arms}
    several = len({row.arm for row in found.rows}) > 1 and any(row.others is not None for row in found.rows)
    headings = [*known.metrics, *(["other answers"] if several else []), *speeds]
    lines = tuple(_line(row, arms, list(speeds.values()), several=several) for row in found.rows)
    losses = tuple(_loss(each, arms) for each in found.losses)
    return AccuracyTable(
        model=known.model,
        title=_title(known, found.device),
        headings=tuple(_heading(each) for each in headings),
        lines=lines,
        loss_headings=("measure", "difference", "right in fp32 alone", "right here alone", "p", "other answers"),
        losses=losses,
        notes=tuple(_notes(found)),
    )


def _heading(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"


def _title(known: DataSet, device: str) -> str:
    of = "" if len(known.items) == known.available else f" of {units.count(known.available)}"
    what = units.count(len(known.items)) + of
    return f"{known.title}, {names.model(known.model)}, {what} {_kind(known)[1]}, {device}"


def _kind(known: DataSet) -> tuple[str, str]:
    return _KINDS.get(known.task, ("row", "rows"))


def _speeds(analysis: Analysis, found: Judgement) -> dict[str, list[TimedBlock]]:
    """Return what was timed of the network: a column for each scenario, batch and number of threads, by its heading."""
    timed: dict[str, list[TimedBlock]] = {}
    for block in analysis.timed:
        case = block.case
        if case.model == found.data_set.model and case.device == found.device and case.definition.serves:
            unit = f", {case.rate_unit}" if case.per_item else ""
            heading = f"{names.scenario_title(case)}{names.batch(case)}, {units.plural(case.threads, 'thread')}{unit}"
            timed.setdefault(heading, []).append(block)
    return timed


def _line(row: Row, arms: dict[str, str], speeds: Sequence[Sequence[TimedBlock]], *, several: bool) -> Line:
    cells = [_score(each) for each in row.scores] or [(units.NO_VALUE, "")] * row.measures
    if several:
        cells.append((units.NO_VALUE if row.others is None else units.count(row.others), ""))
    cells += [(_speed(row, blocks), "") for blocks in speeds]
    return Line(row.arm, arms.get(row.arm, ""), row.precision, tuple(cells))


def _speed(row: Row, blocks: Sequence[TimedBlock]) -> str:
    """Return what an arm's calls took, or how many items it answered a second, in the precision of a row."""
    for block in blocks:
        if block.case.precision == row.precision:
            timed = next((each for each in block.rows if each.arm == row.arm), None)
            return sentences.cost(timed, block.case) if timed is not None else units.NO_VALUE
    return units.NO_VALUE


def _score(score: Score) -> tuple[str, str]:
    if score.value is None:
        return units.NO_VALUE, ""
    write = _number if score.metric in _CORRELATIONS else _percent
    interval = "" if score.low is None or score.high is None else f"{write(score.low)}–{write(score.high)}"
    unit = "" if score.metric in _CORRELATIONS else f"{units.NBSP}%"
    return f"{write(score.value)}{unit}", interval


def _percent(share: float) -> str:
    return units.fixed(100 * share, 1)


def _number(value: float) -> str:
    return units.fixed(value, 3)


def _loss(found: Loss, arms: dict[str, str]) -> Line:
    correlation = found.metric in _CORRELATIONS
    write = _number if correlation else _percent
    sign = "+" if found.difference > 0 else ""
    interval = "" if found.low is None or found.high is None else f"{write(found.low)} to {write(found.high)}"
    value = f"{sign}{write(found.difference)}" + ("" if correlation else f"{units.NBSP}points")
    counts = ((units.NO_VALUE if each is None else units.count(each), "") for each in (found.lost, found.gained))
    p = units.NO_VALUE if found.p is None else units.digits(found.p, 2) if found.p >= 0.001 else "< 0.001"
    changed = units.NO_VALUE if found.changed is None else units.count(found.changed)
    cells = ((found.metric, ""), (value, interval), *counts, (p, ""), (changed, ""))
    return Line(found.arm, arms.get(found.arm, ""), found.precision, cells)


def _notes(found: Judgement) -> Iterable[str]:
    for row in found.rows:
        if row.failure:
            yield f"{row.arm} in {row.precision} did not answer: {row.failure}"
        elif row.equal is False:
            yield f"{row.arm} in {row.precision} is not equal to the reference: its accuracy is of another network."
    for split in found.splits:
        yield _split(split, found.data_set)
    known = found.data_set
    made = ", ".join(f"{name} {version}" for name, version in known.prepared_by.items())
    by = f" prepared by {made}," if made else ""
    words = f", vocabulary {known.vocabulary_sha256[:12]}" if known.vocabulary_sha256 else ""
    yield f"Items:{by} SHA-256 {known.sha256[:12]}{words}."


def _split(split: Split, known: DataSet) -> str:
    one, many = _kind(known)
    total = units.plural(len(known.items), one, many)
    if not split.items:
        return f"In {split.precision} all {split.arms} arms gave the same answers to {total}."
    some = ", ".join(str(each + 1) for each in split.items[:SHOWN])
    more = f" and {units.count(len(split.items) - SHOWN)} more" if len(split.items) > SHOWN else ""
    return (
        f"In {split.precision} the {split.arms} arms do not all give the same answer to "
        f"{units.count(len(split.items))} of {total}: number {some}{more} of the set."
    )
