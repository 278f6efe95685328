"""A network of a user's own as Python: kept by its content, looked at, and never run here.

The file is parsed, to find its function and the framework that it imports. It is run by workers in containers alone:
the exporter makes an ONNX file of a network of PyTorch for the other frameworks, and an answer in float64.
"""

import hashlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from levelfield import untrusted
from levelfield.errors import LevelfieldError, explained, one_line, printable
from levelfield.images import engine
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import WorkerError
from levelfield.paths import cache_folder
from levelfield.prepare.artifacts import ModelFile, let_export, publish
from levelfield.prepare.own_model import outline
from levelfield.prepare.own_weights.folder import shown
from levelfield.record.bounds import MAX_SIZES
from levelfield.record.files import write_atomically
from levelfield.record.schema import Artifact, Image, OwnFile, OwnSizes
from levelfield.worker import messages
from levelfield.worker.messages import Output
from levelfield.worker.sources import digest_of
from levelfield.zoo.onnx_export import MODEL_FILE
from levelfield.zoo.spec import Own, OwnInput, Sensitivity

MOST_BYTES = 1 << 18
MOST_INPUT_BYTES = 1 << 30
LEAST_S, BYTES_PER_S = 0.5, 250_000
"""Processor time to parse a file: so much, and for its length; common files are parsed eight times as fast."""
FRAMEWORKS = ("torch", "jax", "tensorflow")
FILE = "network.py"
DIGITS = 8
"""Of a digest, in a name."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_EXAMPLE = "--model FILE.py:FUNCTION"
_MOST = 8
"""Functions that a message names."""


def keep(text: str) -> OwnFile:
    """Keep a copy of a file, and say what will be measured.

    Raises LevelfieldError: it cannot be read, is no Python, lacks the function, or imports no framework or several.
    """
    path, named = _split(text)
    functions = tuple(dict.fromkeys(named.split(",")))
    if not path or not all(map(_NAME.fullmatch, functions)):
        there = builders(path) if path.endswith(".py") else ()
        example = f"--model {shlex.quote(f'{shown(path)}:{there[0]}')}" if there else _EXAMPLE
        which = f" of the file, which defines {', '.join(there[:_MOST])}" if there else " of a file"
        raise LevelfieldError(f"{shown(text)} names no function{which}.", fix=f"Write {example}.")
    if len(functions) > MAX_SIZES:
        raise LevelfieldError(f"{len(functions)} functions are named; {MAX_SIZES} are the most.", fix="Use two runs.")
    name, content = _read(path)
    described = _described(name, content, functions)
    target = _file(described.sha256)
    target.parent.mkdir(parents=True, exist_ok=True)
    untrusted.limit_access(target.parent)
    write_atomically(target, content)
    untrusted.limit_access(target)
    return described


def builders(text: str) -> tuple[str, ...]:
    """Return the functions of `FILE.py`, or of `FILE.py:FUNCTION`, that need no arguments.

    Raises LevelfieldError: it cannot be read, or is no Python.
    """
    return _outline(*_read(_split(text)[0])).builders


def command(text: str) -> str:
    """Return a command that shows what would be measured of `FILE.py`, or of `FILE.py:FUNCTION`.

    Raises LevelfieldError: as `builders`.
    """
    path, named = _split(text)
    example = named or next(iter(builders(text)), "FUNCTION")
    return f"levelfield bench --model {shlex.quote(f'{path}:{example}')} --dry-run"


def _split(text: str) -> tuple[str, str]:
    """Return a file and its functions; empty: none is named."""
    if text.endswith(".py") or ":" not in text:
        return text, ""
    path, _, named = text.rpartition(":")
    return path, named


def _read(path: str) -> tuple[str, bytes]:
    name = shown(Path(path).name)
    with explained(f"{name} cannot be read", "Name a Python file that is there."):
        return name, untrusted.read_plain(Path(path), MOST_BYTES)


def keep_recorded(text: str, recorded: OwnFile | None) -> None:
    """Keep the Python file that a record names, so that it is found by its digest.

    `recorded`: the record's description of the file; None: the run was of the tool's own models. Raises
    LevelfieldError: it is another file or function, or the record names none.
    """
    if recorded is None or not recorded.function:
        raise LevelfieldError("The report is not of a network in Python.", fix="Leave --model out.")
    path, _ = _split(text)
    name, content = _read(path)
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != recorded.sha256:
        raise LevelfieldError(
            f"{name} (SHA-256 {sha256[:16]}…) is not what was measured: that is {recorded.functions} of the file "
            f"{recorded.sha256[:16]}….",
            fix=f"Ask its author for {recorded.file}.",
        )
    measured = f"{path}:{recorded.functions}"
    if text != measured:
        raise LevelfieldError(
            f"{name} is the right file, and {recorded.functions} was measured.",
            fix=f"Write --model {shlex.quote(measured)}.",
        )
    keep(text)


def find_recorded(known: OwnFile) -> OwnFile:
    """Find the copy of a file that a record names, and look at it anew.

    Raises LevelfieldError: it is not here; or it differs from what the record declares.
    """
    functions = tuple(known.functions.split(","))
    if not _SHA256.fullmatch(known.sha256) or not all(map(_NAME.fullmatch, functions)):
        raise LevelfieldError("The record names a file by something that is no SHA-256.", exit_code=1)
    with explained(
        f"The run measured {known.file} (SHA-256 {known.sha256[:16]}…), which is not here.",
        f"Give it with --model FILE.py:{known.functions}: the file itself decides, not its name.",
    ):
        content = _file(known.sha256).read_bytes()
    if _described(known.file, content, functions) != known:
        raise LevelfieldError(
            f"The record says otherwise of {known.file} than the file does itself.", fix="It was changed by hand."
        )
    return known


def description(model: OwnFile, root: str) -> Own:
    return Own(inputs=(), python=f"{root}/own/{model.sha256}/{FILE}", function=model.function)


def artifact(model: OwnFile) -> Artifact:
    """Return what the user gave as the record names it: by its own SHA-256, as `sha256sum` prints it."""
    return Artifact(model.file, model.sha256, model.size_bytes)


def check_isolated(model: OwnFile | None, launchers: Iterator[str]) -> None:
    """Refuse to run a user's Python anywhere but in containers.

    `model`: the user's own file; None: there is none. Raises LevelfieldError: it is Python, and some worker would not
    be in a container.
    """
    if model is not None and model.function and any(kind != "docker" for kind in launchers):
        try:
            with engine.connect():
                fix = "Leave --launcher out: a container engine answers here."
        except LevelfieldError:
            fix = "Start a container engine, and leave --launcher out."
        raise LevelfieldError(
            f"{model.file} is a program, and is run in containers alone: without network, on a read-only system.",
            fix=fix,
        )


def _file(sha256: str) -> Path:
    return cache_folder("artifacts") / "own" / sha256 / FILE


def _described(name: str, content: bytes, functions: tuple[str, ...]) -> OwnFile:
    sha256 = hashlib.sha256(content).hexdigest()
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", Path(name).stem).strip("-")[:40] or "network"
    first, *others = (OwnSizes(f"{stem}-{function}-{sha256[:DIGITS]}", function=function) for function in functions)
    return OwnFile(
        model=first.model,
        file=name,
        sha256=sha256,
        size_bytes=len(content),
        inputs=(),
        outputs=(),
        precision="fp32",
        opset=0,
        function=first.function,
        framework=_framework(name, content, functions),
        also=tuple(others),
    )


class _Outline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `outline` prints."""

    functions: tuple[str, ...] = ()
    builders: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    damaged: bool = False
    line: int = 0


def _outline(name: str, content: bytes) -> _Outline:
    """Parse a file, within a time that grows as its length.

    Raises LevelfieldError: it takes longer, or is no Python.
    """
    seconds = LEAST_S + len(content) / BYTES_PER_S
    command = [sys.executable, "-I", "-S", outline.__file__, str(seconds)]
    done = subprocess.run(command, input=content, capture_output=True, check=False, env={})
    if done.returncode:
        raise LevelfieldError(
            f"{name} cannot be parsed within {seconds:.1f} s and {outline.MOST_BYTES >> 30} GiB of memory.",
            fix="Shorten what no parser is made for: names of many parts in an import, f-strings of many.",
        )
    if (found := msgspec.json.decode(done.stdout, type=_Outline)).damaged:
        where = f" (line {found.line})" if found.line else ""
        raise LevelfieldError(f"{name} is no Python that can be read{where}.", fix="Try python3 FILE.py.")
    return found


def _framework(name: str, content: bytes, functions: tuple[str, ...]) -> str:
    """Parse a file, and return the framework that it imports."""
    found = _outline(name, content)
    if unknown := [each for each in functions if each not in found.functions]:
        there = ", ".join(found.functions[:_MOST]) or "none"
        raise LevelfieldError(
            f"{name} defines no function {unknown[0]}: there is {there}.",
            fix=f"Name one that takes no arguments and returns the network and its inputs: {_EXAMPLE}.",
        )
    frameworks = [framework for framework in FRAMEWORKS if framework in found.imported]
    if len(frameworks) != 1:
        what = " and ".join(frameworks) or f"none of {', '.join(FRAMEWORKS)}"
        raise LevelfieldError(
            f"{name} imports {what}, and has to import exactly one of them.", fix="Split the file in two."
        )
    return frameworks[0]


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
    own = description(model, "")
    own = msgspec.structs.replace(own, python=(own.python or "").lstrip("/"))

    def keep(out: Path, made: messages.Exported) -> Exported:
        if not {each.path for each in made.inputs} <= made.files.keys():
            raise LevelfieldError(f"{model.function} of {model.file} names inputs that it has not written.")
        if sum((out / each.path).stat().st_size for each in made.inputs if each.path) > MOST_INPUT_BYTES:
            raise LevelfieldError(f"{model.function} of {model.file} has inputs of more than 1 GiB.")
        sha256 = digest_of(made.files)
        folder = f"own/{model.sha256}/{model.function}-{sha256[:16]}"
        publish(out, root / folder)
        inputs = tuple(msgspec.structs.replace(each, path=f"{folder}/{each.path}") for each in made.inputs)
        size_bytes = sum((root / folder / name).stat().st_size for name in made.files)
        made_by = made.versions | {"opset": str(made.opset)}
        file = ModelFile(f"{folder}/{MODEL_FILE}", sha256, Artifact(f"{model.model} onnx", sha256, size_bytes, made_by))
        said, unanswered = one_line(made.unexported).rstrip("."), one_line(made.unanswered)
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
