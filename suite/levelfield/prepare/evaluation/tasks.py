"""The data sets that answers can be judged on, by the names that `--data` has for them."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.record.schema import DataSet, MetricName
from levelfield.zoo import models as zoo
from levelfield.zoo import own_weights

MOST_ITEMS = 1_000_000
ITEMS = {"smoke": 32, "standard": 500}
"""Items of a data set, by profile; others take all."""
HEADED = "berthead"
"""Family of the networks that answer texts."""
SQUAD = "squad"
IMAGENET = "imagenet"


class Table(msgspec.Struct, frozen=True):
    """Where a GLUE task's sentences and labels stand in its file."""

    file: str
    sentences: tuple[str | int, ...]
    """Columns by name, or by number where the file has no heading."""
    label: str | int
    classes: tuple[str, ...] = ("0", "1")
    """Labels as the file spells them, in the order of a network's outputs; none: a score from 0 to 5."""


class Task(msgspec.Struct, frozen=True):
    """One data set."""

    name: str
    title: str
    networks: dict[str, str]
    """What answers it, by the model that a user names."""
    metrics: tuple[MetricName, ...]
    kind: Literal["pictures", "questions", "sentences"]
    table: Table | None = None
    """None: it is no task of GLUE."""


class DataRequest(msgspec.Struct, frozen=True):
    """What a user named: a data set and where it is."""

    task: str
    path: Path
    items: int | None = None
    """How many of it at the most; None: all."""


_TABLES: dict[str, tuple[str, Table, tuple[MetricName, ...]]] = {
    "cola": ("CoLA", Table("dev.tsv", (3,), 1), ("Matthews correlation",)),
    "sst2": ("SST-2", Table("dev.tsv", ("sentence",), "label"), ("accuracy",)),
    "mrpc": ("MRPC", Table("dev.tsv", ("#1 String", "#2 String"), "Quality"), ("F1", "accuracy")),
    "stsb": (
        "STS-B",
        Table("dev.tsv", ("sentence1", "sentence2"), "score", ()),
        ("Pearson correlation", "Spearman correlation"),
    ),
    "qqp": ("QQP", Table("dev.tsv", ("question1", "question2"), "is_duplicate"), ("F1", "accuracy")),
    "mnli": (
        "MNLI matched",
        Table("dev_matched.tsv", ("sentence1", "sentence2"), "gold_label", ("entailment", "neutral", "contradiction")),
        ("accuracy",),
    ),
    "mnli-mm": (
        "MNLI mismatched",
        Table(
            "dev_mismatched.tsv", ("sentence1", "sentence2"), "gold_label", ("entailment", "neutral", "contradiction")
        ),
        ("accuracy",),
    ),
    "qnli": (
        "QNLI",
        Table("dev.tsv", ("question", "sentence"), "label", ("entailment", "not_entailment")),
        ("accuracy",),
    ),
    "rte": (
        "RTE",
        Table("dev.tsv", ("sentence1", "sentence2"), "label", ("entailment", "not_entailment")),
        ("accuracy",),
    ),
    "wnli": ("WNLI", Table("dev.tsv", ("sentence1", "sentence2"), "label"), ("accuracy",)),
}
TASKS: dict[str, Task] = {
    IMAGENET: Task(
        name=IMAGENET,
        title="ImageNet",
        networks={name: name for name in ("resnet50", "mobilenet", "vit")},
        metrics=("top-1", "top-5"),
        kind="pictures",
    ),
    SQUAD: Task(
        name=SQUAD,
        title="SQuAD v1.1",
        networks=dict.fromkeys(("bert", "bert-squad"), "bert-squad"),
        metrics=("exact match", "F1 of words"),
        kind="questions",
    ),
} | {
    f"glue-{name}": Task(
        name=f"glue-{name}",
        title=f"GLUE {title}",
        networks=dict.fromkeys(
            ("bert", f"bert-classifier-{max(1, len(table.classes))}"), f"bert-classifier-{max(1, len(table.classes))}"
        ),
        metrics=metrics,
        kind="sentences",
        table=table,
    )
    for name, (title, table, metrics) in _TABLES.items()
}


def read(values: Collection[str], profile: str) -> tuple[DataRequest, ...]:
    """Read all values of `--data`, such as `imagenet=FOLDER`, `imagenet:2000=FOLDER` or `imagenet:all=FOLDER`.

    Raises LevelfieldError: one names no data set that is known, no place or no number of items, or is there twice.
    """
    sets: dict[str, DataRequest] = {}
    for text in values:
        before, _, place = text.partition("=")
        name, counted, count = before.partition(":")
        if name not in TASKS:
            raise unknown("data set", name, TASKS)
        if not place:
            raise LevelfieldError(f"--data {text} does not say where it is.", fix=f"Write --data {name}=PATH.")
        if name in sets:
            raise LevelfieldError(f"--data names {name} twice.", fix="Name it once.")
        if counted and count != "all" and not (re.fullmatch("[0-9]{1,7}", count) and 1 <= int(count) <= MOST_ITEMS):
            raise LevelfieldError(
                f"--data {text} has neither a number of items from 1 to {MOST_ITEMS:,} nor all.",
                fix=f"Write --data {name}:500=PATH.",
            )
        most = ITEMS.get(profile) if not counted else None if count == "all" else int(count)
        sets[name] = DataRequest(name, Path(place), most)
    return tuple(sets.values())


def repeat(requests: Collection[DataRequest], before: Sequence[DataSet], *, needed: bool) -> tuple[DataRequest, ...]:
    """Return the requests that resume or repeat a run: the same data sets, as many items of each.

    Raises LevelfieldError: one is named that the run did not answer, or one is needed and not named.
    """
    was = {each.task: each for each in before}
    strange = next((each.task for each in requests if each.task not in was), None)
    if strange is not None:
        raise LevelfieldError(f"That run did not answer {strange}.", fix=f"Leave --data {strange} out.")
    missing = [task for task in was if needed and task not in {each.task for each in requests}]
    if missing:
        raise LevelfieldError(
            f"That run answers {was[missing[0]].title} too, and a record does not hold where it was.",
            fix=f"Give it again with --data {missing[0]}=PATH.",
        )
    return tuple(msgspec.structs.replace(each, items=len(was[each.task].items)) for each in requests)


def check_same(found: Iterable[DataSet], before: Sequence[DataSet]) -> None:
    """Refuse data that are not those that an earlier run answered.

    Raises LevelfieldError: one holds other items, or texts were split into other pieces.
    """
    was = {(each.task, each.model): each for each in before}
    for each in found:
        known = was.get((each.task, each.model))
        if known is not None and (each.sha256, each.vocabulary_sha256) != (known.sha256, known.vocabulary_sha256):
            raise LevelfieldError(
                f"{each.title} is not what was answered before: its SHA-256 is {each.sha256[:12]}… now, and was "
                f"{known.sha256[:12]}…, or its vocabulary is another one.",
                fix=f"Name the same files with --data {each.task}=PATH.",
            )


def network_of(task: Task, model: str) -> str:
    """Return what answers a data set where a model is named; empty where nothing does."""
    if not zoo.has_own_weights(model):
        return task.networks.get(model, "")
    output = zoo.get(model).output.shape
    family = own_weights.family_of(model)
    if task.kind == "pictures":
        return model if family in task.networks else ""
    classes = max(1, len(task.table.classes)) if task.table is not None else 0
    fits = len(output) == 1 and output[0] == classes if task.kind == "sentences" else len(output) > 1
    return model if family == HEADED and fits else ""


def asks_for_head(requests: Collection[DataRequest]) -> bool:
    """Return whether a data set is answered by BERT with a head."""
    return any(TASKS[each.task].kind != "pictures" for each in requests)


def networks(models: Collection[str], requests: Collection[DataRequest]) -> tuple[str, ...]:
    """Return the models that are measured: those that were named, with the networks that answer the data sets.

    Raises LevelfieldError: none of the models answers one of the data sets.
    """
    if not requests:
        return tuple(models)
    chosen = list(models) or [next(iter(TASKS[each.task].networks)) for each in requests]
    found: list[str] = []
    for name in chosen:
        found += [network for each in requests if (network := network_of(TASKS[each.task], name))] or [name]
    for each in requests:
        task = TASKS[each.task]
        if not any(network_of(task, name) == name for name in found):
            raise LevelfieldError(
                f"None of {', '.join(chosen)} answers {task.title}.",
                fix=f"Add --models {next(iter(task.networks))}, or leave --data {task.name} out.",
            )
    return tuple(dict.fromkeys(found))
