"""The data sets that answers can be judged on, by the names that `--data` has for them."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.record.schema import MetricName
from levelfield.schedule.data_sets import DataRequest
from levelfield.zoo import models as zoo
from levelfield.zoo import own_weights
from levelfield_datasets.glue import TABLES, Table

MOST_ITEMS = 1_000_000
ITEMS = {"smoke": 32, "standard": 500}
"""Items of a data set, by profile; others take all."""
HEADED = "berthead"
"""Family of the networks that answer texts."""


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


def _of_glue(name: str, title: str, table: Table, metrics: tuple[MetricName, ...]) -> Task:
    network = f"bert-classifier-{max(1, len(table.classes))}"
    networks = dict.fromkeys(("bert", network), network)
    return Task(f"glue-{name}", f"GLUE {title}", networks, metrics, "sentences", table)


_PICTURES = ("resnet50", "mobilenet", "vit")
TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("imagenet", "ImageNet", dict(zip(_PICTURES, _PICTURES, strict=True)), ("top-1", "top-5"), "pictures"),
        Task(
            "squad",
            "SQuAD v1.1",
            dict.fromkeys(("bert", "bert-squad"), "bert-squad"),
            ("exact match", "F1 of words"),
            "questions",
        ),
        *(_of_glue(name, *row) for name, row in TABLES.items()),
    )
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
        sets[name] = DataRequest(name, Path(place), most, texts=TASKS[name].kind != "pictures")
    return tuple(sets.values())


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


def networks(models: Collection[str], requests: Collection[DataRequest]) -> tuple[str, ...]:
    """Return the models that are measured: those that were named, with the networks that answer the data sets.

    Raises LevelfieldError: none of the models answers one of the data sets.
    """
    tasks = [TASKS[each.task] for each in requests]
    chosen = list(models) or [next(iter(task.networks)) for task in tasks]
    measured: list[str] = []
    for name in chosen:
        measured += [network for task in tasks if (network := network_of(task, name))] or [name]
    for task in tasks:
        if not any(network_of(task, name) == name for name in measured):
            raise LevelfieldError(
                f"None of {', '.join(chosen)} answers {task.title}.",
                fix=f"Add --models {next(iter(task.networks))}, or leave --data {task.name} out.",
            )
    return tuple(dict.fromkeys(measured))
