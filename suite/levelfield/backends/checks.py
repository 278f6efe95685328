"""Checks that every backend makes before it starts, so that all refuse with the same messages."""

import importlib
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends import precisions, registry
from levelfield.backends.decoding import DecodingSource
from levelfield.backends.protocol import Options, Source, Unsupported
from levelfield.zoo import models
from levelfield.zoo.spec import Decoding, Model

IMAGE_DIMENSIONS = 3
"""Of an image in, or of feature maps out, beside the batch."""


def require_supported(backend: str, options: Options) -> None:
    """Refuse what a backend cannot do.

    Raises Unsupported: if precision, device, thread count or settings are not among what the backend can do.
    """
    info = registry.get(backend)
    if options.device not in info.devices:
        raise Unsupported(
            f"{backend} runs on {', '.join(info.devices)} here, not on {options.device}: "
            f"choose --device {info.devices[0]}."
        )
    if reason := precisions.why_not(backend, options.precision, options.device, own=True):
        raise Unsupported(reason)
    if options.threads < 1:
        raise Unsupported(f"{backend} needs at least one thread; {options.threads} were asked for.")
    for name, value in sorted(options.settings.items()):
        if value not in info.settings.get(name, ()):
            available = "; ".join(f"{each}: {', '.join(values)}" for each, values in info.settings.items()) or "none"
            raise Unsupported(f"{backend} has no setting {name}={value} to choose. There are: {available}.")


def import_framework(backend: str, module: str) -> ModuleType:
    """Import a framework.

    Raises Unsupported: if it is not installed here.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Unsupported(
            f"{backend} needs the module {error.name}, which is not installed here: use the docker or venv launcher."
        ) from error


def require_decoding(backend: str, source: DecodingSource, options: Options) -> tuple[Model, Decoding]:
    """Return a model, and how it answers token by token; raises Unsupported where it, or the backend, does not."""
    model = models.get(source.model)
    decoding = model.decoding
    if decoding is None:
        raise Unsupported(f"{source.model} does not answer token by token.")
    devices = registry.get(backend).decodes
    if options.precision != "fp32" or options.device not in devices:
        where = "the CPU alone" if devices == ("cpu",) else " and ".join(devices)
        raise Unsupported(f"{backend} answers token by token in fp32 on {where} here.")
    if source.growing and (reason := registry.get(backend).no_growing_cache):
        raise Unsupported(reason)
    return model, decoding


def require_file(backend: str, source: Source | DecodingSource) -> Path:
    """Return the model file of a source.

    Raises Unsupported: if there is none.
    """
    if source.file is None:
        read = registry.get(backend).file_format
        title = read.title if read is not None else "of its own"
        raise Unsupported(f"{backend} reads a model file ({title}) and was given none: export {source.model} first.")
    if not source.file.is_file():
        raise Unsupported(f"{backend} was given {source.file}, which is not there: export {source.model} again.")
    return source.file


def require_names(backend: str, expected: Collection[str], found: Collection[str]) -> None:
    """Refuse a file of another model.

    Raises Unsupported: if its inputs are not those of the source.
    """
    if set(expected) != set(found):
        raise Unsupported(
            f"{backend} was given a file with inputs {', '.join(sorted(found))} and needs "
            f"{', '.join(sorted(expected))}: export the model again."
        )


def as_defined(model: Model) -> Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]:
    """Return what shows an output as the model defines it, where it was computed with channels last."""
    return images_first if len(model.output.shape) == IMAGE_DIMENSIONS else lambda array: array


def images_first(array: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Show (batch, height, width, channels) as (batch, channels, height, width), without a copy."""
    return array.transpose(0, 3, 1, 2)


def images_last(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Show (batch, channels, height, width) images as (batch, height, width, channels), without a copy."""
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array


def outputs(answer: Any, array: Any) -> list[Any]:  # noqa: ANN401  (whatever a network returns)
    """Return what a network answers as a list of arrays: of tuples, lists and dictionaries, each entry that is one."""
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    if isinstance(answer, tuple | list):
        return [each for part in answer if part is not None for each in outputs(part, array)]
    return [array(answer)]
