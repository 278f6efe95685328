"""Files that workers read or are compared with: weights, ONNX exports, reference outputs; each made once and kept."""

import hashlib
import io
import itertools
import os
import shutil
import stat
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield import untrusted
from levelfield.backends import registry
from levelfield.backends.info import ONNX, FileFormat
from levelfield.errors import LevelfieldError, explained, shortened
from levelfield.images import worker_code
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher, LaunchSpec, running
from levelfield.launchers.worker import WorkerError
from levelfield.paths import cache_folder, package_root, remove_tree, temporary_folder
from levelfield.prepare.own_weights import store
from levelfield.record.files import write_atomically
from levelfield.record.schema import Artifact, Image
from levelfield.worker.messages import Export, Exported
from levelfield.worker.sources import digest_of, files_in
from levelfield.zoo import dataset, decoding, digits, inputs, models, parity, reference, rounding, sensitivity, weights
from levelfield.zoo.decoding import Call
from levelfield.zoo.spec import Sensitivity
from levelfield.zoo.training import batches, trajectory
from levelfield.zoo.training.trajectory import Trajectory
from levelfield.zoo.weights import Arrays

EXPORT_TIMEOUT_S = 600.0
EXPORTER_MEMORY_BYTES = 8 << 30
KEY_CHARS = 16
MANIFEST = "manifest.json"
MOST_FILES = 1000
"""Of one export; ours are of three."""
_T = TypeVar("_T")
_Size = Annotated[float, msgspec.Meta(ge=0)]


class ModelFile(msgspec.Struct, frozen=True):
    """One exported model: where it is under the artifacts folder, and what it is."""

    path: str
    sha256: str
    artifact: Artifact


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: dict[str, str]
    opset: int
    versions: dict[str, str]


class Artifacts:
    """The artifacts folder of this machine's cache, unless another one is named.

    `progress`: called before something is made or computed; not for files that are there.
    """

    def __init__(self, root: Path | None = None, progress: Progress | None = None) -> None:
        self.root = root if root is not None else cache_folder("artifacts")
        self._progress: Progress = progress if progress is not None else lambda _: None
        self._checked: set[str] = set()

    def _definition(self, name: str) -> str:
        """Return the digest of everything that defines a model; it is part of the names of its artifacts."""
        plugin = models.plugin_of(name)
        if plugin is None:
            return self._zoo
        return hashlib.sha256(f"{self._zoo}\n{worker_code.digest(worker_code.package(plugin))}".encode()).hexdigest()

    @cached_property
    def _zoo(self) -> str:
        """Digest of the definitions of all built-in models."""
        digest, root = hashlib.sha256(), package_root()
        for source in sorted((root / "zoo").rglob("*.py")):
            digest.update(f"{source.relative_to(root)}\n".encode() + source.read_bytes())
        return digest.hexdigest()

    def weights(self, name: str) -> str:
        """Return the path, under the artifacts folder, of a model's weights file; make it if it is not there."""
        self._weights(name)
        return self._weights_path(name)

    def made(self, name: str) -> tuple[str, ...]:
        """Return a model's weights file and its dataset, of which there are, under the artifacts folder."""
        return tuple(each for each in (self._weights_path(name), self._dataset(name)) if (self.root / each).is_file())

    def weights_artifact(self, name: str) -> Artifact:
        """Return a model's weights as the record names them: by the digest of the tensors."""
        sha256 = weights.sha256(self._weights(name))
        return Artifact(f"{name} weights", sha256, (self.root / self._weights_path(name)).stat().st_size)

    def dataset(self, name: str) -> str:
        """Return the path, under the artifacts folder, of a model's dataset; make it if it is not there, or damaged.

        Its digest is checked once by each `Artifacts`.
        """
        relative = self._dataset(name)
        if relative not in self._checked:
            model = models.get(name)
            self._cached(
                relative, f"making the dataset of {name}", _check_dataset, lambda path: dataset.save(model, path)
            )
            self._checked.add(relative)
        return relative

    def _dataset(self, name: str) -> str:
        return f"datasets/{name}-{self._definition(name)[:KEY_CHARS]}.u8"

    def dataset_artifact(self, name: str) -> Artifact:
        """Return a model's dataset as the record names it: by the digest of its records."""
        path = self.root / self.dataset(name)
        return Artifact(f"{name} dataset", dataset.read(path).sha256, path.stat().st_size)

    def digits_artifact(self) -> Artifact:
        """Return the digits as the record names them: the file that travels with the tool, by its digest."""
        return Artifact(
            name="digits",
            sha256=digits.FILE_SHA256,
            size_bytes=digits.FILE_BYTES,
            made_by={"scikit-learn": digits.SOURCE_VERSION},
        )

    def inputs_sha256(self, name: str, batch: int, *, from_dataset: bool = False, call: Call | None = None) -> str:
        """Return the SHA-256 of a model's first `batch` inputs, hexadecimal; `call`: as in `reference`."""
        return weights.sha256(self._inputs(name, batch, from_dataset=from_dataset, call=call))

    def _inputs(self, name: str, count: int, *, from_dataset: bool, call: Call | None = None) -> Arrays:
        model = models.get(name)
        if call is not None:
            return decoding.inputs(model, call, 0, count)
        if from_dataset:
            return dataset.batch(model, self.root / self.dataset(name), 0, count)
        return inputs.make(model, 0, count)

    def _weights_path(self, name: str) -> str:
        if models.has_own_weights(name):
            return store.path_of(name)
        return f"weights/{name}-{self._definition(name)[:KEY_CHARS]}.f32"

    def _weights(self, name: str) -> Arrays:
        model = models.get(name)
        if models.has_own_weights(name):
            return store.load(model, self.root)
        return self._cached(
            self._weights_path(name),
            f"making the weights of {name}",
            lambda path: weights.load(path, model),
            lambda path: weights.save(model, path),
        )

    def _cached(self, relative: str, step: str, read: Callable[[Path], _T], make: Callable[[Path], object]) -> _T:
        """Return what `read` makes of a file of the cache; `make` the file first where it is not there, or damaged."""
        path = self.root / relative
        try:
            return read(path)
        except (OSError, ValueError, EOFError, msgspec.MsgspecError):
            self._progress(step)
            _make_folder(path.parent)
            make(path)
            return read(path)

    def _computed(self, name: str, kind: Any, step: str, compute: Callable[[], _T]) -> _T:  # noqa: ANN401  (a type)
        """Return what is computed once and kept as JSON, by its name."""
        return self._cached(
            f"references/{name}.json",
            step,
            lambda path: cast("_T", msgspec.json.decode(path.read_bytes(), type=kind)),
            lambda path: write_atomically(path, msgspec.json.encode(compute())),
        )

    def reference(
        self, name: str, count: int, *, from_dataset: bool = False, call: Call | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the float64 reference output for a model's first inputs, computed once and kept.

        `call`: what is computed of them where the model answers token by token; None: a plain call. Returns `output` is
        the shape of the model's output for one input. Raises LevelfieldError: a file cannot be written.
        """
        model = models.get(name)
        shape = model.output.shape if call is None else decoding.output_shape(model, call)

        def read(path: Path) -> npt.NDArray[np.float64]:
            kept: npt.NDArray[Any] = np.load(path, allow_pickle=False)
            if kept.dtype != np.float64 or kept.shape != (count, *shape):
                raise ValueError(f"{path} holds another reference.")
            return kept

        def compute(path: Path) -> None:
            given, parameters = self._inputs(name, count, from_dataset=from_dataset, call=call), self._weights(name)
            if call is None:
                found = reference.run(model, parameters, given)
            else:
                found = decoding.reference(model, parameters, call, given[decoding.INPUT])
            content = io.BytesIO()
            np.save(content, found, allow_pickle=False)
            write_atomically(path, content.getvalue())

        source = _source(call, from_dataset=from_dataset)
        relative = f"references/{name}-{source}n{count}-{self._definition(name)[:KEY_CHARS]}.npy"
        return self._cached(relative, f"computing the reference of {name} in float64", read, compute)

    def rounding_error(self, name: str, precision: str, count: int) -> float:
        """Return the relative error that rounding a model's weights causes in its output, computed once and kept."""

        def compare() -> float:
            model = models.get(name)
            rounded = rounding.weights(self._weights(name), precision)
            output = reference.run(model, rounded, inputs.make(model, 0, count))
            return parity.compare(output, self.reference(name, count)).relative_l2

        return self._computed(
            f"{name}-n{count}-{self._definition(name)[:KEY_CHARS]}-rounded-{precision}",
            _Size,
            f"computing in float64 what rounding to {precision} makes of {name}'s answers",
            compare,
        )

    def sensitivity(
        self, name: str, precision: str, *, from_dataset: bool = False, call: Call | None = None
    ) -> Sensitivity:
        """Return how far a model's answer moves when weights and inputs do, computed once and kept.

        `call`: what is computed where the model answers token by token; None: a plain call.
        """
        model, source = models.get(name), _source(call, from_dataset=from_dataset)

        def compute() -> Sensitivity:
            made = self._inputs(name, sensitivity.INPUTS, from_dataset=from_dataset, call=call)
            parameters = self._weights(name)

            def answer(weights: Arrays, given: Arrays) -> npt.NDArray[np.float64]:
                if call is not None:
                    return decoding.reference(model, weights, call, given[decoding.INPUT])
                return reference.run(model, weights, given)

            def draw(number: int) -> tuple[npt.NDArray[np.float64]]:
                given = sensitivity.moved_weights(made, number, precision)
                return (answer(sensitivity.moved_weights(parameters, number, precision), given),)

            return sensitivity.largest((answer(parameters, made),), draw)[0]

        return self._computed(
            f"{name}-{source}{self._definition(name)[:KEY_CHARS]}-moves-{precision}",
            Sensitivity,
            f"computing in float64 how far {name}'s answers move when weights and inputs are rounded",
            compute,
        )

    def training_batch_sha256(self, name: str, batch: int) -> str:
        """Return the SHA-256 of a model's first items to train on, labels included, hexadecimal."""
        return weights.sha256(batches.make(models.get(name), 0, batch))

    def trajectory(self, name: str) -> Trajectory:
        """Return the float64 trajectory of a model's training, computed once and kept; some minutes for BERT."""
        return self._computed(
            f"{name}-training-{self._definition(name)[:KEY_CHARS]}",
            Trajectory,
            f"computing the reference of {name}'s training in float64",
            lambda: trajectory.run(models.get(name), self._weights(name)),
        )

    def exported(
        self, name: str, precision: str, batch: int, *, exporter: Image, launcher: Launcher, form: FileFormat = ONNX
    ) -> ModelFile:
        """Return a model as a file; export it if this exporter has not done so yet.

        Raises LevelfieldError: the exporter fails, or reports other files than it wrote.
        """
        relative = self.export_folder(name, precision, batch, exporter, form)
        folder = self.root / relative
        manifest = _manifest(folder)
        if manifest is None:
            self._progress(f"exporting {name} (batch {batch}, {precision}) to {form.title}")
            self._export(name, precision, batch, folder, exporter, launcher, form)
            manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
        sha256 = digest_of(manifest.files)
        return ModelFile(
            path=f"{relative}/{form.file}",
            sha256=sha256,
            artifact=Artifact(
                name=f"{name} {precision} batch {batch} {form.name}",
                sha256=sha256,
                size_bytes=sum((folder / file).stat().st_size for file in manifest.files),
                made_by=manifest.versions | ({"opset": str(manifest.opset)} if manifest.opset else {}),
            ),
        )

    def export_folder(self, name: str, precision: str, batch: int, exporter: Image, form: FileFormat = ONNX) -> str:
        """Return where a model's export by this exporter is kept under the artifacts folder; it may not exist."""
        made_by = exporter.lock_sha256 or f"{exporter.tag} {exporter.python}"
        plugin = registry.plugins_of_images().get(form.image)
        # What writes ONNX files is among the models' definitions; what a plug-in writes, its own code decides.
        code = worker_code.digest(worker_code.package(plugin)) if plugin is not None else ""
        key = hashlib.sha256(f"{made_by}\n{self._definition(name)}{code}".encode()).hexdigest()[:KEY_CHARS]
        return f"{form.folder}/{name}-{precision}-b{batch}-{key}"

    def _export(
        self, name: str, precision: str, batch: int, folder: Path, exporter: Image, launcher: Launcher, form: FileFormat
    ) -> None:
        weights_path = self.weights(name)  # a launcher may copy what is there, and no more
        request = Export(
            model=name, batch=batch, precision=precision, folder="", module=form.module, weights_path=weights_path
        )

        def keep(out: Path, exported: Exported) -> None:
            manifest = _Manifest(files=exported.files, opset=exported.opset, versions=exported.versions)
            write_atomically(out / MANIFEST, msgspec.json.encode(manifest))
            publish(out, folder)

        _make_folder(folder.parent)
        try:
            let_export(request, self.root, exporter, launcher, keep)
        except WorkerError as error:
            raise LevelfieldError(
                f"{name} could not be exported to {form.title}: {error.message}",
                fix=f"Leave out the backends that read {form.title} (--backends). Its last output: "
                + _last_line(error.detail),
            ) from error


def _source(call: Call | None, *, from_dataset: bool) -> str:
    """Return the part of a name that says what was answered."""
    return ("dataset-" if from_dataset else "") + (f"{call.kind}-d{call.depth}-" if call is not None else "")


def let_export(
    request: Export, root: Path, exporter: Image, launcher: Launcher, keep: Callable[[Path, Exported], _T]
) -> _T:
    """Let an exporter write files, and return what `keep` makes of the folder and the reply.

    `request`: with paths relative to `root`, the artifacts folder. Raises LevelfieldError: it wrote something else than
    it says, or than plain files. Raises WorkerError: it fails.
    """
    with temporary_folder("export") as work:
        out = work / "out"
        out.mkdir()
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        spec = LaunchSpec(
            name=f"exporter of {request.model}",
            image=exporter,
            threads=len(cpus),
            cpus=cpus,
            memory_bytes=EXPORTER_MEMORY_BYTES,
            artifacts=root,
            reads=tuple(each for each in (request.weights_path, request.own and request.own.python) if each),
            export=out,
        )
        worker_paths = launcher.worker_paths(spec)
        request = msgspec.structs.replace(
            request,
            folder=str(worker_paths.export),
            weights_path=f"{worker_paths.artifacts}/{request.weights_path}" if request.weights_path else None,
        )
        if request.own is not None:
            own = msgspec.structs.replace(request.own, python=f"{worker_paths.artifacts}/{request.own.python}")
            request = msgspec.structs.replace(request, own=own)
        with running(launcher, spec) as worker:
            exported = worker.ask(request, Exported, EXPORT_TIMEOUT_S)
        out.chmod(0o755)  # its own user may have taken all rights away
        written = list(itertools.islice(out.iterdir(), MOST_FILES + 1))
        usable = (
            len(written) <= MOST_FILES
            and all(map(_is_plain, written))
            and sum(file.stat().st_size for file in written) <= spec.disk_bytes
        )
        for file in written if usable else ():
            file.chmod(0o644)
        if not usable or files_in(out) != exported.files:
            raise LevelfieldError(
                f"The exporter of {request.model} reports other files than it wrote, or wrote what is no plain file.",
                fix=f"Nothing of it is used. Build its image: levelfield images build {exporter.name}.",
            )
        return keep(out, exported)


def publish(out: Path, folder: Path) -> None:
    """Move what was written, which may be of a user's network, to where workers read it."""
    untrusted.limit_access(out)
    remove_tree(folder)
    shutil.move(out, folder)


def _is_plain(file: Path) -> bool:
    """Return whether it is a plain file of one name: a link could make this process touch what lies elsewhere."""
    facts = file.lstat()
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1


def _check_dataset(path: Path) -> None:
    """Raise ValueError where a dataset's records are not those that its file says."""
    if dataset.sha256(path) != dataset.read(path).sha256:
        raise ValueError(f"{path} is damaged.")


def _manifest(folder: Path) -> _Manifest | None:
    """Return what an export holds; None where there is none, or a file of it is missing."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return manifest if all((folder / file).is_file() for file in manifest.files) else None


def _last_line(output: str) -> str:
    """Return the last line of a worker's output: of a traceback, the error itself."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return shortened(lines[-1], 300) if lines else "nothing."


def _make_folder(path: Path) -> None:
    with explained(f"The folder {path} cannot be made", "Set LEVELFIELD_CACHE to a folder of yours."):
        path.mkdir(parents=True, exist_ok=True)
