"""What the exporter makes of a network of PyTorch: an ONNX file for the other frameworks, and an answer in float64."""

from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError, printable
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import WorkerError
from levelfield.paths import cache_folder
from levelfield.prepare.artifacts import ModelFile, let_export, publish
from levelfield.prepare.own_model import python_file
from levelfield.record.schema import Artifact, Image, OwnFile
from levelfield.worker import messages
from levelfield.worker.messages import Output
from levelfield.worker.sources import digest_of
from levelfield.zoo.onnx_export import MODEL_FILE
from levelfield.zoo.spec import Own, OwnInput, Sensitivity


class Exported(msgspec.Struct, frozen=True):
    """A network of PyTorch as the others read it."""

    file: ModelFile | None
    """None: it cannot be exported."""
    inputs: tuple[OwnInput, ...]
    """With paths under the artifacts folder."""
    answers: tuple[Output, ...]
    """In float64; empty: there are none."""
    versions: dict[str, str]
    unexported: str = ""
    unanswered: str = ""
    sensitivities: tuple[Sensitivity, ...] = ()
    """Of the answers."""

    def description(self, root: str) -> Own:
        """Return the description that a worker needs which reads the file.

        `root`: the artifacts folder as the worker sees it.
        """
        return Own(tuple(msgspec.structs.replace(each, path=f"{root}/{each.path}") for each in self.inputs))


def export(model: OwnFile, image: Image, launcher: Launcher, progress: Progress) -> Exported:
    """Let the exporter run a network's file.

    Raises LevelfieldError: it does not run there, or what was written cannot be used.
    """
    progress(f"exporting {model.function} of {model.file} to ONNX")
    root = cache_folder("artifacts")
    own = python_file.description(model, "")
    own = msgspec.structs.replace(own, python=(own.python or "").lstrip("/"))

    def keep(out: Path, made: messages.Exported) -> Exported:
        if not {each.path for each in made.inputs} <= made.files.keys():
            raise LevelfieldError(f"{model.function} of {model.file} names inputs that it has not written.")
        sha256 = digest_of(made.files)
        folder = f"own/{model.sha256}/{model.function}-{sha256[:16]}"
        publish(out, root / folder)
        inputs = tuple(msgspec.structs.replace(each, path=f"{folder}/{each.path}") for each in made.inputs)
        size_bytes = sum((root / folder / name).stat().st_size for name in made.files)
        made_by = made.versions | {"opset": str(made.opset)}
        file = ModelFile(f"{folder}/{MODEL_FILE}", sha256, Artifact(f"{model.model} onnx", sha256, size_bytes, made_by))
        said, unanswered = printable(made.unexported).rstrip("."), printable(made.unanswered)
        unexported = f"torch.onnx.export cannot write {model.function} of {model.file} as ONNX: {said}."
        there = (file, "") if MODEL_FILE in made.files else (None, unexported)
        return Exported(there[0], inputs, made.answers, made.versions, there[1], unanswered, made.sensitivities)

    request = messages.Export(model=model.model, batch=1, precision=model.precision, folder="", own=own)
    try:
        return let_export(request, root, image, launcher, keep)
    except WorkerError as error:
        raise LevelfieldError(
            f"{model.function} of {model.file} did not run where networks are exported: "
            f"{printable(error.message).rstrip('.')}.",
            fix="It runs in a container with PyTorch and NumPy, and no other file of yours.",
        ) from error
