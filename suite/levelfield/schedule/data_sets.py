"""Data sets that answers are judged on: what the plug-in that reads them brings, and what an earlier run answered."""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from levelfield import plugins
from levelfield.errors import LevelfieldError
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher
from levelfield.record.schema import DataSet

if TYPE_CHECKING:
    from levelfield.schedule.listener import ProgressListener
    from levelfield.schedule.resources import RunResources


class DataRequest(msgspec.Struct, frozen=True):
    """What a user named: a data set and where it is."""

    task: str
    path: Path
    items: int | None = None
    """How many of it at the most; None: all."""
    texts: bool = False
    """Whether BERT with a head answers it."""


class Prepared(msgspec.Struct, frozen=True):
    """A data set that is ready; a plug-in adds what its answers are judged by."""

    data_set: DataSet


class Hooks(NamedTuple):
    """What an entry point of the group `levelfield.datasets` names; its name is that of the plug-in's image."""

    read: Callable[[Collection[str], str], tuple[DataRequest, ...]]
    """From values of `--data` and a profile to what was asked for."""
    networks: Callable[[Collection[str], Collection[DataRequest]], tuple[str, ...]]
    """From the models that were named to those that are measured."""
    prepare: Callable[[Sequence[DataRequest], Sequence[str], Launcher, Path, Sequence[Path], Progress], Any]
    """Make data sets ready for networks, in a folder of artifacts, with vocabularies that may be in other folders: a
    tuple of `Prepared`."""
    answer: "Callable[[Path, RunResources, Sequence[Any], ProgressListener], None]"
    """Let every arm of a run's folder answer what is prepared, but for what its journal holds."""


def hooks() -> Hooks:
    """Return what the installed plug-in brings; LevelfieldError: there is none, or it cannot be loaded."""
    for plugin in plugins.installed(plugins.DATA_SETS):
        try:
            return plugins.load(plugin, Hooks)
        except plugins.PluginError as error:
            raise LevelfieldError(
                plugins.Broken(plugin, str(error)).sentence, fix="Install a version that works."
            ) from error
    raise LevelfieldError(
        "Data sets are read by levelfield-datasets, which is not installed here.",
        fix="In a checkout: pipx inject levelfield ./plugins/datasets",
    )


def read(values: Collection[str], profile: str) -> tuple[DataRequest, ...]:
    """Read all values of `--data`.

    Raises LevelfieldError: one is not known or has no place, or is named twice; or nothing is installed that reads it.
    """
    return hooks().read(values, profile) if values else ()


def networks(models: Collection[str], requests: Collection[DataRequest]) -> tuple[str, ...]:
    """Return the models that are measured: those that were named, and the networks that answer the data sets."""
    return hooks().networks(models, requests) if requests else tuple(models)


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
    """Refuse (LevelfieldError) data that are not those that an earlier run answered."""
    was = {(each.task, each.model): each for each in before}
    for each in found:
        known = was.get((each.task, each.model))
        if known is not None and (each.sha256, each.vocabulary_sha256) != (known.sha256, known.vocabulary_sha256):
            raise LevelfieldError(
                f"{each.title} is not what was answered before: its SHA-256 is {each.sha256[:12]}… now, and was "
                f"{known.sha256[:12]}…, or its vocabulary is another one.",
                fix=f"Name the same files with --data {each.task}=PATH.",
            )
