"""Copies of users' own files, by their content: in `artifacts/own/` of the cache, and found there again by digest.

A record names a file by its digest alone. What is found for a digest is read anew: what a record says about a file's
inputs is not believed.
"""

import hashlib
import itertools
import math
import mmap
import os
import re
from collections import Counter
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path

import msgspec

from levelfield import untrusted
from levelfield.backends.protobuf import MalformedError
from levelfield.errors import LevelfieldError, clause, explained, printable
from levelfield.machine.findings import check_space
from levelfield.names import made_of
from levelfield.paths import cache_folder, remove_tree, temporary_folder
from levelfield.prepare.artifacts import ModelFile
from levelfield.prepare.own_model import describe, onnx_format, python_file
from levelfield.prepare.own_model.describe import Content
from levelfield.record.bounds import MAX_DIMENSIONS, MAX_SIZES
from levelfield.record.schema import Artifact, OwnFile, OwnSizes
from levelfield.worker.sources import digest_of, files_in
from levelfield.zoo import inputs
from levelfield.zoo.spec import Own, OwnInput

MODEL = "model.onnx"
MAX_BYTES = (2 << 30) - 1
"""Protocol Buffers end here: a longer file is none."""
MAX_VALUES_BYTES = 4 << 30
_SIZES = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
_CHUNK = 1 << 22
_HOLE = bytes(_CHUNK)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def requested(path: Path | None, inputs: tuple[tuple[str, str], ...]) -> OwnFile | None:
    """Keep and read the file; None where there is none.

    `inputs`: names of dynamic dimensions with a size or several, and of inputs with files of their values. Raises
    LevelfieldError: it cannot be measured; or something was said of a file, and none was given.
    """
    if path is None:
        if inputs:
            raise LevelfieldError("--input is about an ONNX file of your own.", fix="Add --model FILE.onnx.")
        return None
    given = [(name, value) for name, value in inputs if _SIZES.fullmatch(value)]
    values = [(name, value) for name, value in inputs if not _SIZES.fullmatch(value)]
    for pairs in (given, values):
        for twice in (name for name, count in Counter(name for name, _ in pairs).items() if count > 1):
            more = f", for several sizes too: --input {twice}=32,128" if pairs is given else ""
            raise LevelfieldError(f"--input was given twice for {twice}.", fix=f"Once is enough{more}.")
    sizes = {name: tuple(dict.fromkeys(map(int, value.split(",")))) for name, value in given}
    if len(sizes) > MAX_DIMENSIONS:
        raise LevelfieldError(
            f"--input is given for {len(sizes)} dimensions, and {MAX_DIMENSIONS} are the most of one run.",
            fix="Export the file with fewer dimensions without a size.",
        )
    if (count := math.prod(map(len, sizes.values()))) > MAX_SIZES:
        raise LevelfieldError(
            f"--input asks for {count} combinations of sizes, and {MAX_SIZES} are the most of one run.",
            fix="Give fewer sizes, or measure in several runs.",
        )
    files = {name: Path(value) for name, value in values}
    each = [dict(zip(sizes, combined, strict=True)) for combined in itertools.product(*sizes.values())]
    first, *others = (read(path, dimensions, files) for dimensions in each)
    also = tuple(OwnSizes(other.model, other.inputs, other.dimensions) for other in others)
    return msgspec.structs.replace(first, also=also)


def read(path: Path, dimensions: Mapping[str, int], values: Mapping[str, Path]) -> OwnFile:
    """Keep a copy of a user's file and of the values given with it, and say what will be measured.

    Raises LevelfieldError: it cannot be read, is no ONNX model, or is one that cannot be measured.
    """
    content = keep(path)
    given = {name: _keep_values(file) for name, file in values.items()}
    return _described(content, dimensions, given)


def find_recorded(known: OwnFile) -> OwnFile:
    """Find the copy of a file that a record names, and read it anew.

    Raises LevelfieldError: it is not here; or it differs from what the record declares.
    """
    if known.function:
        return python_file.find_recorded(known)
    content = _content(known)
    given = {each.name: each.sha256 for each in known.inputs if each.sha256}
    for sha256 in (known.sha256, *known.beside.values(), *given.values()):
        if not _SHA256.fullmatch(sha256):
            raise LevelfieldError("The record names a file by something that is no SHA-256.", exit_code=1)
    if not _holds(_folder(content), {MODEL: known.sha256, **known.beside}):
        raise LevelfieldError(
            f"The run measured {known.file} (SHA-256 {known.sha256[:16]}…), which is not here, or was changed.",
            fix="Give it with --model PATH: the file itself decides, not its name.",
        )
    for sha256 in given.values():
        if not _holds(_values_file(sha256).parent, {_values_file(sha256).name: sha256}):
            raise LevelfieldError(
                f"The run gave {known.file} values of its own (SHA-256 {sha256[:16]}…), which are not here, or were "
                "changed.",
                fix="Give them once with `levelfield bench --model PATH --input NAME=FILE.npy`.",
            )
    found = _described(content, known.dimensions, given)
    if found != msgspec.structs.replace(known, also=()):
        raise LevelfieldError(
            f"The record says otherwise of {known.file} than the file does itself.", fix="It was changed by hand."
        )
    for other in known.sized[1:]:
        find_recorded(other)
    return known


def keep_recorded(path: Path, recorded: OwnFile | None) -> None:
    """Keep the file that a record names, so that it is found by its digest.

    `recorded`: the record's description of the file; None: the run was of the tool's own models. Raises
    LevelfieldError: it is another file, or the record names none.
    """
    if recorded is None:
        raise LevelfieldError("The report is of this tool's own models, and needs no file.", fix="Leave --model out.")
    if recorded.function:
        raise LevelfieldError(
            f"The report is of a network in Python, {recorded.file}.",
            fix=f"Give it with --model FILE.py:{recorded.functions}.",
        )
    found = keep(path)
    if (found.sha256, found.beside) != (recorded.sha256, recorded.beside):
        raise LevelfieldError(
            f"{path.name} is not the file that was measured: its SHA-256 is {found.sha256[:16]}…, and the report's "
            f"{recorded.sha256[:16]}….",
            fix=f"Ask its author for {recorded.file}.",
        )


def keep(path: Path) -> Content:
    """Copy a file, and those beside it that it names, into the cache.

    Raises LevelfieldError: it cannot be read, is too long, or is no ONNX model.
    """
    root = cache_folder("artifacts") / "own"
    root.mkdir(exist_ok=True)
    with temporary_folder("own") as outer:
        draft = outer / "draft"
        draft.mkdir()
        sha256, size_bytes = _copy(path, draft / MODEL, MAX_BYTES)
        graph = _graph(draft / MODEL, _shown(path))
        beside = {name: _copy_beside(path, name, draft) for name in graph.beside}
        size_bytes += sum((draft / name).stat().st_size for name in beside)
        content = Content(_shown(path), sha256, size_bytes, beside)
        target = _folder(content)
        if not _holds(target, {MODEL: sha256, **beside}):
            remove_tree(target)
            draft.replace(target)
        untrusted.limit_access(target)
    return content


def _holds(folder: Path, digests: Mapping[str, str]) -> bool:
    """Return whether the files of a copy still are what they are called by: a user, or a disk, may have changed them.

    `digests`: SHA-256 by name.
    """
    try:
        for name, sha256 in digests.items():
            with untrusted.open_plain(folder / name, follow_links=False) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    return False
    except OSError:
        return False
    return True


def prepared(model: OwnFile, batch: int) -> ModelFile:
    """Return the file as workers get it: the copy, with all its dimensions as long as one call has them.

    One with conditions keeps its own: ONNX Runtime checks the branch, too, that is for other sizes, and refuses it.
    """
    original = _folder(_content(model))
    sides = describe.shapes(model, batch)
    folder = original
    if describe.needs_sizes(_graph(original / MODEL, model.file), sides):
        key = "_".join(f"{name}={size}" for name, size in sorted(sides.items()))
        folder = original / f"sized-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        _write_sized(original, folder, sides, model.beside)
    found = files_in(folder)
    sha256 = digest_of(found)
    size_bytes = sum((folder / name).stat().st_size for name in found)
    made_by = {"from": model.sha256, "opset": str(model.opset)}
    artifact = Artifact(f"{model.model} batch {batch} onnx", sha256, size_bytes, made_by)
    return ModelFile(f"{folder.relative_to(cache_folder('artifacts'))}/{MODEL}", sha256, artifact)


def artifacts(model: OwnFile) -> tuple[Artifact, ...]:
    """Return what the user gave as the record names it: every file by its own SHA-256, as `sha256sum` prints it."""
    if model.function:
        return (python_file.artifact(model),)
    folder = _folder(_content(model))
    files = [(model.file, model.sha256, folder / MODEL)]
    files += [(name, sha256, folder / name) for name, sha256 in model.beside.items()]
    files += [
        (f"values of {each.name}", each.sha256, _values_file(each.sha256)) for each in model.inputs if each.sha256
    ]
    return tuple(Artifact(name, sha256, path.stat().st_size) for name, sha256, path in files)


def readable(model: OwnFile) -> tuple[str, ...]:
    """Return what a worker may read of a user's own file, under the artifacts folder: its copy, and values given."""
    folder = model.sha256 if model.function else _content(model).identity
    values = sorted({f"own/{each.sha256}.npy" for each in model.inputs if each.sha256})
    return (f"own/{folder}", *values)


def description(model: OwnFile, root: str) -> Own:
    """Return the description of a user's own file that a worker needs."""
    if model.function:
        return python_file.description(model, root)
    paths = (f"{root}/own/{each.sha256}.npy" if each.sha256 else None for each in model.inputs)
    return Own(tuple(made_of(OwnInput, each, path=path) for each, path in zip(model.inputs, paths, strict=True)))


def _described(content: Content, dimensions: Mapping[str, int], values: Mapping[str, str]) -> OwnFile:
    found = describe.describe(content, _graph(_folder(content) / MODEL, content.name), dimensions, values)
    for each in description(found, str(cache_folder("artifacts"))).inputs:
        if each.path is not None:
            with explained(
                f"The values that were given for {each.name} cannot be taken",
                "Write them with numpy.save, one array in a file.",
                ValueError,
            ):
                inputs.read(Path(each.path), each)
    return found


def look(path: Path) -> tuple[str, int, onnx_format.Graph]:
    """Return a file's name, its size, and what it declares.

    Raises LevelfieldError: it cannot be read, or is no ONNX model.
    """
    with _opened(path) as file:
        return _shown(path), os.fstat(file.fileno()).st_size, _declared(file, _shown(path))


def _graph(path: Path, name: str) -> onnx_format.Graph:
    with path.open("rb") as file:
        return _declared(file, name)


def _declared(file: BufferedReader, name: str) -> onnx_format.Graph:
    """Read what a file declares; whatever is wrong with it is one sentence."""
    try:
        return onnx_format.read_graph(_mapped(file))
    except MalformedError as error:
        raise LevelfieldError(
            f"{name} is not an ONNX model, or a damaged one: {str(error)[0].lower()}{clause(error)[1:]}.",
            fix="Export it again, or look at it with onnx.checker.check_model.",
        ) from error


def _mapped(file: BufferedReader) -> memoryview:
    """Show a file's bytes; they are closed with the last view of them."""
    if not os.fstat(file.fileno()).st_size:
        return memoryview(b"")
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _opened(source: Path, inside: Path | None = None) -> BufferedReader:
    with explained(f"{_shown(source)} cannot be read", "Name an ONNX file that is there, or a name with --models."):
        return untrusted.open_plain(source, inside=inside)


def _copy(source: Path, target: Path, most_bytes: int, *, inside: Path | None = None) -> tuple[str, int]:
    """Copy a plain file; return its SHA-256 and its size."""
    with _opened(source, inside) as file, target.open("wb") as copy:
        status = os.fstat(file.fileno())
        if status.st_size > most_bytes:
            raise LevelfieldError(
                f"{_shown(source)} is longer than {most_bytes} bytes, the most that such a file may have.",
                fix="Save it with its weights in a file beside it: onnx.save_model(…, save_as_external_data=True).",
            )
        check_space(_shown(source), target.parent, status.st_size)
        digest, size_bytes = hashlib.sha256(), 0
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            if chunk == _HOLE:  # what takes no space there takes none here
                copy.seek(_CHUNK, os.SEEK_CUR)
            else:
                copy.write(chunk)
            size_bytes += len(chunk)
        copy.truncate(size_bytes)
    untrusted.limit_access(target)
    return digest.hexdigest(), size_bytes


def find_beside(path: Path, name: str) -> Path:
    """Return a file with weights, which must lie beside the model, and nowhere else.

    Raises LevelfieldError: it lies elsewhere, or is not there.
    """
    if Path(name).name != name or name in {MODEL, ".", ".."} or "\\" in name or "\0" in name or name.startswith("."):
        raise LevelfieldError(
            f"{_shown(path)} keeps weights in {name!r}, and only files in its own folder are read, not called {MODEL}.",
            fix="Save it again as one file: onnx.save_model(onnx.load(…), …).",
        )
    source = path.with_name(name)
    if not source.exists():
        raise LevelfieldError(
            f"{_shown(path)} keeps weights in {name}, which is not beside it.",
            fix="Put it there, or save the model again as one file: onnx.save_model(onnx.load(…), …).",
        )
    return source


def _copy_beside(path: Path, name: str, draft: Path) -> str:
    return _copy(find_beside(path, name), draft / name, 1 << 40, inside=path.parent)[0]


def _write_sized(original: Path, folder: Path, sides: Mapping[str, tuple[int, ...]], beside: Mapping[str, str]) -> None:
    """Write the file with these shapes of its inputs, and the weights beside it."""
    with temporary_folder("own") as outer:
        draft, digest = outer / "draft", hashlib.sha256()
        draft.mkdir()
        with (original / MODEL).open("rb") as whole, (draft / MODEL).open("wb") as file:
            for part in onnx_format.fixed(_mapped(whole), sides):
                digest.update(part)
                file.write(part)
        untrusted.limit_access(draft / MODEL)
        if _holds(folder, {MODEL: digest.hexdigest(), **beside}):
            return
        for name in beside:
            _copy(original / name, draft / name, 1 << 40)  # a link would do, and the onnx library refuses one
        untrusted.limit_access(draft)
        remove_tree(folder)
        draft.replace(folder)


def _keep_values(path: Path) -> str:
    """Copy a file of values into the cache; return its SHA-256."""
    with temporary_folder("own") as folder:
        sha256, _ = _copy(path, folder / "values", MAX_VALUES_BYTES)
        (folder / "values").replace(_values_file(sha256))
    return sha256


def _shown(path: Path) -> str:
    """Return a file's name as a record may hold it: bytes that are no text, and signs that are none, are replaced."""
    return printable(path.name.encode(errors="replace").decode()).replace("\n", " ")


def _values_file(sha256: str) -> Path:
    return cache_folder("artifacts") / "own" / f"{sha256}.npy"


def _content(model: OwnFile) -> Content:
    return Content(model.file, model.sha256, model.size_bytes, model.beside)


def _folder(content: Content) -> Path:
    return cache_folder("artifacts") / "own" / content.identity
