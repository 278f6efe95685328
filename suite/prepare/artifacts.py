"""Files that workers read or are compared with: weights, ONNX exports, reference outputs; each made once and kept."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt

from suite.errors import LevelfieldError
from suite.launchers.protocol import READY_TIMEOUT_S, Launcher, LaunchSpec, Progress
from suite.launchers.worker import WorkerError
from suite.paths import cache_folder, package_root
from suite.prepare.own_images.preparing import Prepared
from suite.record.files import write_atomically
from suite.record.schema import Artifact, Image
from suite.worker.files import digest_of, files_in
from suite.worker.messages import Export, Exported
from suite.zoo import dataset, inputs, models, parity, reference, rounding, weights
from suite.zoo.digits import data as digits
from suite.zoo.training import batches, convergence, trajectory
from suite.zoo.training.recipe import Goal
from suite.zoo.training.trajectory import Trajectory
from suite.zoo.weights import Arrays

EXPORT_TIMEOUT_S = 600.0
EXPORTER_MEMORY_BYTES = 8 << 30
KEY_CHARS = 16
MANIFEST = "manifest.json"
_T = TypeVar("_T")
_Size = Annotated[float, msgspec.Meta(ge=0)]


class Onnx(msgspec.Struct, frozen=True):
    """One exported model: where it is under the artifacts folder, and what it is."""

    path: str
    sha256: str
    artifact: Artifact


class _Manifest(msgspec.Struct, frozen=True):
    files: dict[str, str]
    opset: int
    versions: dict[str, str]


class Artifacts:
    """The artifacts folder of this machine's cache.

    Parameters
    ----------
    root
        The folder; None: that of the cache.
    progress
        Called with a short line before something is made or computed; not for files that are there.
    """

    def __init__(self, root: Path | None = None, progress: Progress | None = None) -> None:
        self.root = root if root is not None else cache_folder("artifacts")
        self._progress: Progress = progress if progress is not None else lambda _: None
        self._checked: set[str] = set()

    @cached_property
    def _definition(self) -> str:
        """Digest of everything that defines the models: another definition, other artifacts."""
        sources = sorted((package_root() / "zoo").rglob("*.py"))
        digest = hashlib.sha256()
        for source in sources:
            digest.update(f"{source.relative_to(package_root())}\n".encode() + source.read_bytes())
        return digest.hexdigest()

    def weights(self, name: str) -> str:
        """Return the path, under the artifacts folder, of a model's weights file; make it if it is not there."""
        relative = f"weights/{name}-{self._definition[:KEY_CHARS]}.f32"
        path = self.root / relative
        try:
            weights.load(path, models.get(name))
        except (OSError, ValueError):  # not there, or damaged: it is only a cache
            self._progress(f"making the weights of {name}")
            _folder(path.parent)
            weights.save(models.get(name), path)
        return relative

    def weights_artifact(self, name: str) -> Artifact:
        """Return a model's weights as the record names them: by the digest of the tensors."""
        path = self.root / self.weights(name)
        return Artifact(
            name=f"{name} weights",
            sha256=weights.sha256(self._weights(name)),
            size_bytes=path.stat().st_size,
        )

    def dataset(self, name: str) -> str:
        """Return the path, under the artifacts folder, of a model's dataset; make it if it is not there, or damaged.

        Its digest is looked at once by each `Artifacts`.
        """
        relative = f"datasets/{name}-{self._definition[:KEY_CHARS]}.u8"
        if relative not in self._checked:
            path = self.root / relative
            try:
                whole = dataset.sha256(path) == dataset.read(path).sha256
            except ValueError:
                whole = False
            if not whole:
                self._progress(f"making the dataset of {name}")
                _folder(path.parent)
                dataset.save(models.get(name), path)
            self._checked.add(relative)
        return relative

    def dataset_artifact(self, name: str) -> Artifact:
        """Return a model's dataset as the record names it: by the digest of its records."""
        path = self.root / self.dataset(name)
        return Artifact(
            name=f"{name} dataset", sha256=dataset.read(path).sha256, size_bytes=path.stat().st_size, made_by={}
        )

    def digits_artifact(self) -> Artifact:
        """Return the digits as the record names them: the file that travels with the tool, by its digest."""
        return Artifact(
            name="digits",
            sha256=digits.FILE_SHA256,
            size_bytes=digits.FILE_BYTES,
            made_by={"scikit-learn": digits.SOURCE_VERSION},
        )

    def own_images_artifact(self, prepared: Prepared) -> Artifact:
        """Return what was made of a user's own images as the record names it: by the digest of the file."""
        return Artifact(
            name="own images",
            sha256=prepared.sha256,
            size_bytes=prepared.size_bytes,
            made_by={"folder": prepared.source_sha256} | ({"decoder": prepared.decoder} if prepared.decoder else {}),
        )

    def sensitivity(self, goal: Goal, images_sha256: str) -> float:
        """Return how far perturbed weights move the reference's first losses on a user's own images; kept.

        Parameters
        ----------
        goal
            What is trained.
        images_sha256
            Of the file of images.
        """
        key = hashlib.sha256(f"{goal.network} {images_sha256} {self._definition}".encode()).hexdigest()[:KEY_CHARS]
        return self._kept(
            f"own-images-{key}-sensitivity",
            _Size,
            f"computing how far rounding alone moves {goal.network}'s training on these images, in float64",
            lambda: convergence.sensitivity(goal, convergence.OWN_SEEDS),
        )

    def inputs_sha256(self, name: str, batch: int, *, from_dataset: bool = False) -> str:
        """Return the digest of a model's first `batch` inputs.

        Parameters
        ----------
        name
            A model of the zoo.
        batch
            How many inputs.
        from_dataset
            Take them from the model's dataset, which is made if it is not there; otherwise they are generated.

        Returns
        -------
        str
            SHA-256, hexadecimal.

        Raises
        ------
        LevelfieldError
            The dataset cannot be written.
        """
        return weights.sha256(self._inputs(name, batch, from_dataset=from_dataset))

    def _inputs(self, name: str, count: int, *, from_dataset: bool) -> Arrays:
        model = models.get(name)
        if from_dataset:
            return dataset.batch(model, self.root / self.dataset(name), 0, count)
        return inputs.make(model, 0, count)

    def _weights(self, name: str) -> Arrays:
        return weights.load(self.root / self.weights(name), models.get(name))

    def _kept(self, name: str, kind: Any, doing: str, make: Callable[[], _T]) -> _T:  # noqa: ANN401  (a type for msgspec)
        """Return what was computed once and kept as JSON, by its name; compute it where it is not there, or damaged."""
        path = self.root / f"references/{name}.json"
        try:
            return cast("_T", msgspec.json.decode(path.read_bytes(), type=kind))
        except (OSError, msgspec.MsgspecError):  # it is only a cache
            self._progress(doing)
            made = make()
            _folder(path.parent)
            write_atomically(path, msgspec.json.encode(made))
            return made

    def reference(self, name: str, count: int, *, from_dataset: bool = False) -> npt.NDArray[np.float64]:
        """Return the float64 reference output for a model's first inputs, computed once and kept.

        Parameters
        ----------
        name
            A model of the zoo.
        count
            How many inputs.
        from_dataset
            Take them from the model's dataset, which is made if it is not there; otherwise they are generated.

        Returns
        -------
        ndarray of float64, shape (count, *output)
            `output` is the shape of the model's output for one input.

        Raises
        ------
        LevelfieldError
            A file cannot be written.
        """
        kind = "dataset-" if from_dataset else ""
        path = self.root / f"references/{name}-{kind}n{count}-{self._definition[:KEY_CHARS]}.npy"
        kept = _kept_array(path, (count, *models.get(name).output.shape))
        if kept is not None:
            return kept
        self._progress(f"computing the reference of {name} in float64")
        given = self._inputs(name, count, from_dataset=from_dataset)
        output = reference.run(models.get(name), self._weights(name), given)
        _folder(path.parent)
        temporary = path.with_suffix(f".{os.getpid()}.npy")
        try:
            np.save(temporary, output, allow_pickle=False)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        return output

    def rounding_error(self, name: str, precision: str, count: int) -> float:
        """Return the relative error that rounding a model's weights causes in its output, computed once and kept.

        Parameters
        ----------
        name
            A model of the zoo.
        precision
            What the weights are rounded to, such as `bf16`.
        count
            How many of the model's first inputs are compared.

        Returns
        -------
        float
            ‖rounded − ref‖₂ / ‖ref‖₂, both computed in float64.
        """

        def compare() -> float:
            model = models.get(name)
            output = reference.run(
                model, rounding.weights(self._weights(name), precision), inputs.make(model, 0, count)
            )
            return parity.compare(output, self.reference(name, count)).relative_l2

        return self._kept(
            f"{name}-n{count}-{self._definition[:KEY_CHARS]}-rounded-{precision}",
            _Size,
            f"computing in float64 what rounding to {precision} makes of {name}'s answers",
            compare,
        )

    def training_batch_sha256(self, name: str, batch: int) -> str:
        """Return the digest of a model's first items to train on, labels included.

        Parameters
        ----------
        name
            A model of the zoo.
        batch
            How many items.

        Returns
        -------
        str
            SHA-256, hexadecimal.
        """
        return weights.sha256(batches.make(models.get(name), 0, batch))

    def trajectory(self, name: str) -> Trajectory:
        """Return the float64 trajectory of a model's training, computed once and kept; some minutes for BERT."""
        return self._kept(
            f"{name}-training-{self._definition[:KEY_CHARS]}",
            Trajectory,
            f"computing the reference of {name}'s training in float64",
            lambda: trajectory.run(models.get(name), self._weights(name)),
        )

    def onnx(self, name: str, precision: str, batch: int, *, exporter: Image, launcher: Launcher) -> Onnx:
        """Return a model as ONNX; export it if this exporter has not done so yet.

        Parameters
        ----------
        name
            A model of the zoo.
        precision
            Of the weights in the file, such as `bf16`.
        batch
            First dimension of the inputs, fixed in the file.
        exporter
            Image to export with; its lock is part of the key under which the file is kept.
        launcher
            How to run the exporter.

        Raises
        ------
        LevelfieldError
            The exporter fails, or reports other files than it wrote.
        """
        made_by = exporter.lock_sha256 or f"{exporter.tag} {exporter.python}"
        key = hashlib.sha256(f"{made_by}\n{self._definition}".encode()).hexdigest()[:KEY_CHARS]
        relative = f"onnx/{name}-{precision}-b{batch}-{key}"
        folder = self.root / relative
        manifest = _manifest(folder)
        if manifest is None:
            self._progress(f"exporting {name} (batch {batch}, {precision}) to ONNX")
            self._export(name, precision, batch, folder, exporter, launcher)
            manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
        sha256 = digest_of(manifest.files)
        return Onnx(
            path=f"{relative}/model.onnx",
            sha256=sha256,
            artifact=Artifact(
                name=f"{name} {precision} batch {batch} onnx",
                sha256=sha256,
                size_bytes=sum((folder / file).stat().st_size for file in manifest.files),
                made_by={**manifest.versions, "opset": str(manifest.opset)},
            ),
        )

    def _export(self, name: str, precision: str, batch: int, folder: Path, exporter: Image, launcher: Launcher) -> None:
        _folder(folder.parent)
        work = Path(tempfile.mkdtemp(prefix=".export-", dir=folder.parent))
        spec = LaunchSpec(
            name=f"exporter of {name}",
            image=exporter,
            threads=len(os.sched_getaffinity(0)),
            cpus=tuple(sorted(os.sched_getaffinity(0))),
            memory_bytes=EXPORTER_MEMORY_BYTES,
            artifacts=self.root,
            export=work / "out",
        )
        (work / "out").mkdir()
        try:
            worker_paths = launcher.worker_paths(spec)
            worker = launcher.launch(spec)
            try:
                worker.await_ready(READY_TIMEOUT_S)
                request = Export(
                    model=name,
                    batch=batch,
                    precision=precision,
                    folder=str(worker_paths.export),
                    weights_path=f"{worker_paths.artifacts}/{self.weights(name)}",
                )
                exported = worker.ask(request, Exported, EXPORT_TIMEOUT_S)
            finally:
                worker.stop()
            strange = [file.name for file in (work / "out").iterdir() if not _is_plain(file)]
            if strange:
                raise LevelfieldError(
                    f"The exporter of {name} left something else than plain files: {strange[0][:80]!r}.",
                    fix="Nothing of it was used. Build the exporter's image anew: levelfield build exporter.",
                )
            found = files_in(work / "out")
            if found != exported.files:
                raise LevelfieldError(f"The exporter of {name} reports other files than it wrote.", fix="Try again.")
            manifest = _Manifest(files=found, opset=exported.opset, versions=exported.versions)
            write_atomically(work / "out" / MANIFEST, msgspec.json.encode(manifest))
            for file in (work / "out").iterdir():
                file.chmod(0o644)
            (work / "out").chmod(0o755)
            shutil.rmtree(folder, ignore_errors=True)
            (work / "out").replace(folder)
        except WorkerError as error:
            raise LevelfieldError(
                f"{name} could not be exported to ONNX: {error.message}",
                fix="Leave out the backends that read ONNX (--backends). Its last output: " + _last(error.detail),
            ) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _is_plain(file: Path) -> bool:
    """Return whether it is a plain file of one name: a link could make this process touch what lies elsewhere."""
    facts = file.lstat()
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1


def _kept_array(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.float64] | None:
    """Return a reference output that was kept; None where there is none, or it is damaged."""
    try:
        kept: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return kept if kept.dtype == np.float64 and kept.shape == shape else None


def _manifest(folder: Path) -> _Manifest | None:
    """Return what an export holds; None where there is none, or a file of it is missing."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return manifest if all((folder / file).is_file() for file in manifest.files) else None


def _last(words: str) -> str:
    """Return the last line of what was said: of a traceback, the error itself."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing."


def _folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LevelfieldError(
            f"The folder {path} cannot be made: {error.strerror}.", fix="Set LEVELFIELD_CACHE to a folder of yours."
        ) from error
