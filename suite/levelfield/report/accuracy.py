"""Tables of answers to data sets, for page and terminal: accuracy beside speed, disagreements, what was lost."""

from collections.abc import Iterable, Iterator
from typing import Any

from levelfield.analysis import Analysis
from levelfield.analysis.accuracy import Judgement, Loss, Row, Score, Split
from levelfield.record.schema import DataSet, Run
from levelfield.report import names, sentences, units
from levelfield.report.tables import Cell, Column, Table, make

TITLE = "Accuracy"
SHOWN = 12
"""Items that are named at the most where arms disagree; all of them follow from the record."""
_CORRELATIONS = ("Matthews correlation", "Pearson correlation", "Spearman correlation")
_KINDS = {"imagenet": ("picture", "pictures"), "squad": ("question", "questions")}


def tables(run: Run, analysis: Analysis) -> tuple[Table, ...]:
    """Return a table for each data set and device, and one of what lower precisions lose; none without a data set."""
    return tuple(table for found in analysis.judgements for table in _tables(run, found))


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


def _tables(run: Run, found: Judgement) -> Iterator[Table]:
    known = found.data_set
    backends = {arm.id: arm.backend for block in run.blocks for arm in block.arms}
    several = len({row.arm for row in found.rows}) > 1 and any(row.others is not None for row in found.rows)

    def named(row: Row | Loss) -> Cell:
        return Cell(row.arm, backend=backends.get(row.arm, ""))

    def marks(row: Row | Loss) -> dict[str, str]:
        return {"arm": row.arm, "backend": backends.get(row.arm, "")}

    def score(number: int, metric: str) -> Column[Row]:
        return Column(sentences.capitalised(metric), lambda row: _score(row.scores[number]) if row.scores else None)

    who: tuple[Column[Any], ...] = (
        Column("Arm", named, numeric=False),
        Column("Precision", lambda row: row.precision, numeric=False),
    )
    judged = (
        *who,
        *(score(number, metric) for number, metric in enumerate(known.metrics)),
        *([Column("Other answers", lambda row: row.others)] if several else []),
    )
    title, notes = _title(known, found.device), tuple(_notes(found))
    of_losses = () if found.losses else notes
    yield make(title, judged, found.rows, marks=marks, look="compact", notes=of_losses)
    if found.losses:
        title = f"{title}: each lower precision, less the same arm in fp32"
        yield make(title, (*who, *_LOSSES), found.losses, marks=marks, look="compact", notes=notes)


def _title(known: DataSet, device: str) -> str:
    of = "" if len(known.items) == known.available else f" of {units.count(known.available)}"
    what = units.count(len(known.items)) + of
    return f"{known.title}, {names.model(known.model)}, {what} {_kind(known)[1]}, {device}"


def _kind(known: DataSet) -> tuple[str, str]:
    return _KINDS.get(known.task, ("row", "rows"))


def _score(score: Score) -> Cell | None:
    return None if score.value is None else _written(score, score.value)


def _written(found: Score | Loss, value: float, *, difference: bool = False) -> Cell:
    """Write a measure with its interval: a correlation, or percents; or a difference of such."""
    correlation = found.metric in _CORRELATIONS

    def write(share: float) -> str:
        return units.fixed(share, 3) if correlation else units.fixed(100 * share, 1)

    to, unit = (" to ", "points") if difference else ("–", "%")
    interval = "" if found.low is None or found.high is None else f"{write(found.low)}{to}{write(found.high)}"
    sign = "+" if difference and value > 0 else ""
    return Cell(f"{sign}{write(value)}{'' if correlation else f'{units.NBSP}{unit}'}", interval)


_LOSSES: tuple[Column[Loss], ...] = (
    Column("Measure", lambda loss: loss.metric),
    Column("Difference", lambda loss: _written(loss, loss.difference, difference=True)),
    Column("Right in fp32 alone", lambda loss: loss.lost),
    Column("Right here alone", lambda loss: loss.gained),
    Column("P", lambda loss: None if loss.p is None else units.digits(loss.p, 2) if loss.p >= 0.001 else "< 0.001"),
    Column("Other answers", lambda loss: loss.changed),
)


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
