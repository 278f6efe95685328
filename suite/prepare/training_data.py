"""The data of training to a target: the digits, or a user's own images. Unusable data fail their own cases only."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.images.wheels import Progress
from suite.launchers.protocol import Launcher
from suite.prepare.artifacts import Artifacts
from suite.prepare.evaluation import bags
from suite.prepare.evaluation.tasks import DataRequest
from suite.prepare.own_images import preparing
from suite.prepare.own_images.listing import UnusableError
from suite.prepare.own_images.preparing import Prepared
from suite.record.schema import Block, OwnImages, Settings
from suite.zoo.training import convergence
from suite.zoo.training.recipe import Goal

OF_TEXTS = "mlp"
"""Model whose small network takes bags of words."""
GIVE_AGAIN = "Give the folder with --data PATH: a record does not hold where it was."


class TrainingDataRequest(msgspec.Struct, frozen=True):
    """What a user requests."""

    data: Path | None = None
    """Folder of images, or of labelled texts; None: the digits."""
    task: str = ""
    """The task of GLUE whose texts these are; empty: they are images."""
    target: float | None = None
    """Accuracy; None: the goal's own."""
    expected: OwnImages | None = None
    """What an earlier run trained on, which this one resumes or repeats."""


class TrainingData(msgspec.Struct, frozen=True):
    """What is trained on in a run."""

    folder: Path
    """This machine's artifacts."""
    target: float | None = None
    prepared: Prepared | None = None
    task: str = ""
    """As in `TrainingDataRequest`."""
    reason: str = ""
    """Why a user's own images are not trained on, though they should be."""
    sensitivity: dict[str, float] = {}
    """Of the reference on a user's own images, by model."""

    def goal(self, model: str) -> Goal:
        """Return how a model's network is trained.

        Raises
        ------
        ValueError
            It cannot be.
        """
        if self.reason:
            raise ValueError(self.reason)
        if self.prepared is None:
            return convergence.goal(model, target=self.target)
        if not preparing.is_intact(self.prepared, self.folder):
            raise ValueError("The file that was made of the images is gone from the cache, or was changed there.")
        goal = convergence.goal(model, images=self.folder / self.prepared.path, target=self.target)
        return msgspec.structs.replace(goal, own_sensitivity=self.sensitivity.get(model, 0.0))

    @property
    def recorded(self) -> OwnImages | None:
        """What the record holds of a user's own images: digests and numbers, never a name."""
        if self.prepared is not None:
            made = self.prepared
            return OwnImages(
                made.source_sha256, classes=made.classes, trained=made.trained, tested=made.tested, task=self.task
            )
        return OwnImages(sha256="", reason=self.reason, task=self.task) if self.reason else None


def folder_of_images(data: Path | None) -> Path | None:
    """Return the folder that a user named with `--data`; None where none was.

    Raises
    ------
    LevelfieldError
        There is no such folder.
    """
    if data is not None and not data.is_dir():
        raise LevelfieldError(f"There is no folder {data}.", fix="Name the folder of images with --data.")
    return data


def repeat_request(request: TrainingDataRequest, before: Settings) -> TrainingDataRequest:
    """Return the request that resumes or repeats a run: its target, and images of the same digest.

    Parameters
    ----------
    request
        What the user names now; its images are compared with those of the earlier run when they are prepared.
    before
        Settings of the earlier run.

    Raises
    ------
    LevelfieldError
        The run trained on images that are not given, or images are given and it trained on none of the user's own.
    """
    was = before.own_images
    if was is None and request.data is not None:
        raise LevelfieldError("That run did not train on images of your own.", fix="Leave --data out.")
    if was is not None and was.sha256 and request.data is None:
        what = f"texts of {was.task}" if was.task else "images"
        give = f"Give them again with --data {was.task}=PATH." if was.task else GIVE_AGAIN
        raise LevelfieldError(f"That run trained on {what} of the user's own (SHA-256 {was.sha256[:12]}…).", fix=give)
    if was is not None and request.data is not None and was.task != request.task:
        raise LevelfieldError(
            f"That run trained on {was.task or 'a folder of images'}, and not on {request.task or 'images'}.",
            fix=f"Give it again with --data {was.task + '=' if was.task else ''}PATH.",
        )
    return TrainingDataRequest(data=request.data, task=request.task, target=before.target, expected=was)


def prepare_training_data(
    request: TrainingDataRequest,
    blocks: Iterable[Block],
    artifacts: Artifacts,
    progress: Progress,
    launcher: Launcher | None = None,
) -> TrainingData:
    """Make what is trained on ready.

    Parameters
    ----------
    request
        What the user requests.
    blocks
        Of the plan.
    artifacts
        Of this machine's cache.
    progress
        Called with a short line whenever a step begins.
    launcher
        Where texts are split; None: there are none.

    Raises
    ------
    LevelfieldError
        The images cannot be trained on, and nothing else is requested; or nothing is trained to a target.
    """
    found = list(blocks)
    models = list(dict.fromkeys(block.case.model for block in found if block.case.converges))
    plain = TrainingData(artifacts.root, target=request.target, task=request.task)
    if not models:
        if request.data is not None or request.target is not None:
            raise LevelfieldError(
                "--data and --target are for trainings to a target accuracy, and none was asked for.",
                fix="Add --scenarios convergence, with --models mlp or resnet50.",
            )
        return plain
    if request.expected is not None and request.expected.reason:
        return msgspec.structs.replace(plain, reason=request.expected.reason)
    if request.data is None:
        return plain
    try:
        prepared = _prepared(request, request.data, models, artifacts, progress, launcher)
    except UnusableError as error:
        reason = str(error)
        if all(block.case.converges for block in found):
            folder = (
                "train.tsv and dev.tsv" if request.task else "train/CLASS/ and val/CLASS/, or CLASS/, full of images"
            )
            raise LevelfieldError(reason, fix=f"Name a folder with {folder}.") from error
        progress(f"{reason} Only what trains on it is left out.")
        return msgspec.structs.replace(plain, reason=reason)
    sensitivity = {}
    for model in models:
        goal = convergence.goal(model, images=artifacts.root / prepared.path)
        sensitivity[model] = artifacts.sensitivity(goal, prepared.sha256)
    return msgspec.structs.replace(plain, prepared=prepared, sensitivity=sensitivity)


def _prepared(
    request: TrainingDataRequest,
    data: Path,
    models: Sequence[str],
    artifacts: Artifacts,
    progress: Progress,
    launcher: Launcher | None,
) -> Prepared:
    batch = max(convergence.goal(model).batch for model in models)
    if request.task and launcher is not None:
        others = [model for model in models if model != OF_TEXTS]
        if others:
            raise UnusableError(f"Texts are bags of words here, and {', '.join(others)} looks at images: ask for mlp.")
        prepared = bags.prepare(DataRequest(request.task, data), artifacts, batch, launcher, progress)
    else:
        progress("reading your images")
        prepared = preparing.prepare(data, artifacts.root, batch)
    if request.expected is not None and prepared.source_sha256 != request.expected.sha256:
        raise UnusableError(
            f"The {'texts' if request.task else 'images'} are not those that were trained on before: their SHA-256 is "
            f"{prepared.source_sha256[:12]}… now, and was {request.expected.sha256[:12]}…."
        )
    return prepared
