"""Weights of users' own, kept in the form in which workers read them: in `artifacts/weights/`, by their names.

A record names a folder by its digest alone. Beside the weights lies a description; what a record says otherwise is not
believed.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield import untrusted
from levelfield.errors import LevelfieldError, explained
from levelfield.machine.findings import check_space
from levelfield.paths import cache_folder
from levelfield.prepare.own_weights import folder as folders
from levelfield.prepare.own_weights.families import FAMILIES, WITH_HEAD, Family
from levelfield.prepare.own_weights.folder import CONFIG, Folder, shown
from levelfield.record.files import write_atomically
from levelfield.record.schema import Artifact, OwnWeights
from levelfield.worker.sources import digest_of
from levelfield.zoo import models, own_weights, weights
from levelfield.zoo.spec import Model, Parameter

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ANY = "0" * own_weights.DIGITS
"""In the place of a digest that is not known yet."""
MOST_BESIDE_BYTES = 1 << 30


def read(
    paths: Sequence[Path], names: Sequence[str], *, headed: bool = False
) -> tuple[tuple[OwnWeights, ...], tuple[str, ...]]:
    """Keep the weights of folders, and return them with the models that are measured.

    `names`: models that the user named: those of the folders' families take these weights. None: only the folders'
    networks are measured. Raises LevelfieldError: a folder cannot be measured, is named twice, or is of a family that
    the user did not name.
    """
    taking = {"bert": "berthead"} if headed else {}
    wanted = [taking.get(name, name) for name in names] or list(taking.values())
    kept = tuple(each for path in paths for each in keep(path, wanted))
    found = tuple(dict.fromkeys(each.model for each in kept))
    if len(found) < len(kept):
        raise LevelfieldError("--model names the same content twice.", fix="Once is enough.")
    if not names:
        return kept, found
    families = {each: own_weights.family_of(each) for each in found}
    left = next((each for each, family in families.items() if family not in wanted), None)
    if left is not None:
        raise LevelfieldError(
            f"--model has those of {families[left]}, and --models names {', '.join(names)}.",
            fix=f"Add {families[left]} to --models, or leave --models out.",
        )
    models: list[str] = []
    for name in names:
        models += [each for each, family in families.items() if family == taking.get(name, name)] or [name]
    return kept, tuple(models)


def keep(path: Path, models_named: Collection[str] = ()) -> tuple[OwnWeights, ...]:
    """Read a folder and keep its weights as workers read them.

    Raises LevelfieldError: the folder is not readable, or holds no network that has a definition here.
    """
    found = folders.read(path)
    family = _family(found)
    headed = WITH_HEAD.get(family.model_type)
    if headed is not None and not set(headed.models).isdisjoint(models_named):
        family = headed
    config = _config(family, found)
    taking = [name for name in family.models if name in models_named] or family.models[:1]
    return tuple(_keep(found, family, config, name) for name in taking)


def _keep(found: Folder, family: Family, config: msgspec.Struct, taking: str) -> OwnWeights:
    sizes = family.sizes(config, found.shapes)
    try:
        model = models.get(own_weights.name_of(taking, _ANY, sizes))
    except (ValueError, msgspec.ValidationError) as error:
        raise _strange(found, str(error)) from error
    placed = _placed(family, config, sizes, model, found)
    _check_size(found, placed, model)
    sha256 = digest_of(found.files)  # the files may be large: all that can be refused is refused before
    name = own_weights.name_of(taking, sha256, sizes)
    model = models.get(name)
    described = OwnWeights(
        model=name,
        family=family.model_type,
        sha256=sha256,
        files=found.files,
        size_bytes=found.size_bytes,
        dtypes=tuple(sorted({found.stored(each).dtype for each in placed.values()})),
        config={field: shown(str(value)) for field, value in msgspec.to_builtins(config).items()},
    )
    if _known(name) != described or not _whole(model):
        target = file_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        check_space(found.name, target.parent, 4 * model.parameter_count)
        _description(name).unlink(missing_ok=True)
        weights.write(model, target, _tensors(model, placed, found))
        write_atomically(_description(name), msgspec.json.encode(described))
    untrusted.limit_access(file_of(name))
    return described


def _check_size(found: Folder, placed: dict[str, str], model: Model) -> None:
    """Refuse far more than the network's tensors, and a network that is not kept and has no room here."""
    needed = sum(end - begin for begin, end in (found.stored(each).data_offsets for each in placed.values()))
    if found.size_bytes > 2 * needed + MOST_BESIDE_BYTES:
        raise LevelfieldError(
            f"The files of {found.name} have {found.size_bytes:,} bytes, and its network needs {needed:,} of them.",
            fix="Save the network alone: model.save_pretrained(…).",
        )
    kept = file_of(model.name.replace(_ANY, "?" * len(_ANY), 1))
    if not any(kept.parent.glob(kept.name)):
        check_space(found.name, cache_folder("artifacts"), 4 * model.parameter_count)


def keep_recorded(paths: Sequence[Path], recorded: Sequence[OwnWeights]) -> None:
    """Keep the weights that a record names, so that they are found by their digest.

    Raises LevelfieldError: a folder is another one, or the record names none.
    """
    if paths and not recorded:
        raise LevelfieldError("The report has no weights of its author's own.", fix="Leave --model out.")
    known = {each.sha256 for each in recorded}
    families = {own_weights.family_of(each.model) for each in recorded}
    for path in paths:
        found = keep(path, families)[0]
        if found.sha256 not in known:
            raise LevelfieldError(
                f"{path.name} is not the folder that was measured: its SHA-256 is {found.sha256[:16]}…, and the "
                f"report's {' and '.join(each[:16] + '…' for each in sorted(known))}.",
                fix="Ask its author for the folder.",
            )


def find_recorded(recorded: OwnWeights) -> OwnWeights:
    """Find the weights that a record names.

    Raises LevelfieldError: they are not here; or the record says otherwise of them than their folder did.
    """
    if not _SHA256.fullmatch(recorded.sha256) or not models.has_own_weights(recorded.model):
        raise LevelfieldError("The record names weights by something that is no digest.", exit_code=1)
    known = _known(recorded.model)
    if known is None or known.sha256 != recorded.sha256 or not _whole(_model(recorded)):
        raise LevelfieldError(
            f"The run measured weights of its author's own (a folder with SHA-256 {recorded.sha256[:16]}…), which are "
            "not here.",
            fix="Give them with --model FOLDER: the content decides, not the name.",
        )
    if known != recorded:
        raise LevelfieldError(
            "The record says otherwise of the weights than their folder did.", fix="It was changed by hand."
        )
    return known


def load(model: Model, root: Path) -> weights.Arrays:
    """Map weights that are kept into memory.

    Raises LevelfieldError: they are not there any more.
    """
    with explained(
        f"The weights of {model.name} are not in the cache any more.",
        "Give them again with --model FOLDER.",
        OSError,
        ValueError,
    ):
        return weights.load(root / path_of(model.name), model)


def artifact(described: OwnWeights) -> Artifact:
    """Return what the user gave as the record names it: by the digest of the files that were read."""
    return Artifact(f"folder of {described.model}", described.sha256, described.size_bytes)


def file_of(name: str) -> Path:
    """Return where the weights of a network are kept, whether they are there or not."""
    return cache_folder("artifacts") / path_of(name)


def path_of(name: str) -> str:
    """Return the same under the artifacts folder."""
    return f"weights/{name}.f32"


def _model(recorded: OwnWeights) -> Model:
    try:
        return models.get(recorded.model)
    except (ValueError, msgspec.ValidationError) as error:
        raise LevelfieldError("The record names sizes that no network has.", exit_code=1) from error


def _description(name: str) -> Path:
    return file_of(name).with_suffix(".json")


def _known(name: str) -> OwnWeights | None:
    """Return the description of what is kept under a name; None where nothing is."""
    try:
        return msgspec.json.decode(_description(name).read_bytes(), type=OwnWeights)
    except (OSError, msgspec.MsgspecError):
        return None


def _whole(model: Model) -> bool:
    try:
        weights.load(file_of(model.name), model)
    except (OSError, ValueError):
        return False
    return True


def _family(found: Folder) -> Family:
    try:
        model_type = msgspec.json.decode(found.config, type=_Kind).model_type
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _strange(found, str(error)) from error
    family = FAMILIES.get(model_type)
    if family is None:
        there = ", ".join(f"{each.title} ({name})" for name, each in FAMILIES.items())
        raise LevelfieldError(
            f"{CONFIG} of {found.name} is of the family {shown(model_type) or 'unknown'!r}, which has no definition "
            f"here: there are {there}.",
            fix="Export the network to ONNX and measure it with --model FILE.onnx or FILE.py:FUNCTION.",
        )
    return family


class _Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    model_type: str = ""


def _config(family: Family, found: Folder) -> msgspec.Struct:
    try:
        config = msgspec.json.decode(found.config, type=family.config)
        family.check(config)
        sizes = family.sizes(config, found.shapes)
        msgspec.convert(msgspec.to_builtins(sizes), type(sizes))  # checks the bounds
    except (msgspec.MsgspecError, ArithmeticError, ValueError, RecursionError) as error:
        raise _strange(found, str(error)) from error
    return config


def _strange(found: Folder, why: str) -> LevelfieldError:
    return LevelfieldError(
        f"{CONFIG} of {found.name} describes no network that has a definition here: {shown(why)}.",
        fix="Compare it with what save_pretrained writes, or export the network to ONNX and use --model FILE.onnx.",
    )


def _placed(
    family: Family, config: msgspec.Struct, sizes: msgspec.Struct, model: Model, found: Folder
) -> dict[str, str]:
    """Return the name in the folder of every tensor of the network; every one has to be there, and no others."""
    placed: dict[str, str] = {}
    tied = family.tied(config, found.shapes)
    for parameter in model.parameters:
        candidates = family.names(sizes, parameter.name)
        if parameter.name in tied:
            candidates = (*candidates, *family.names(sizes, tied[parameter.name]))
        theirs = next((each for each in candidates if each in found.tensors), None)
        if theirs is None:
            raise LevelfieldError(
                f"{found.name} holds no tensor {candidates[0]}, which {family.title} needs.",
                fix=f"Save the whole network with save_pretrained, or correct {CONFIG}.",
            )
        _check_shape(parameter, theirs, found)
        placed[parameter.name] = theirs
    left = set(found.tensors) - set(placed.values())
    strange = sorted(
        name for name in left if not name.startswith(family.unused) and not name.endswith(family.unused_ends)
    )
    if strange:
        raise LevelfieldError(
            f"{found.file_of(strange[0])} holds {shown(strange[0])}, which {family.title} has no place for: it is "
            "another network.",
            fix="Export it to ONNX and measure it with --model FILE.onnx.",
        )
    return placed


def _check_shape(parameter: Parameter, theirs: str, found: Folder) -> None:
    found.check_type(theirs)
    shape = found.stored(theirs).shape
    if shape != parameter.shape:
        raise LevelfieldError(
            f"{found.file_of(theirs)} holds {theirs} of shape {_shape(shape)}, and {CONFIG} says "
            f"{_shape(parameter.shape)}.",
            fix="Bring the two together: they are of different networks.",
        )


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "one number"


def _tensors(model: Model, placed: dict[str, str], found: Folder) -> Iterator[npt.NDArray[np.float32]]:
    for parameter in model.parameters:
        yield np.ascontiguousarray(found.read(placed[parameter.name]))
