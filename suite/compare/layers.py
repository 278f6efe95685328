"""Where two machines begin to differ: the first layer whose output is another one to the last bit."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from suite.compare.changes import hardware_differences
from suite.record.layers import Launch, Layer, Layers
from suite.record.schema import Image

VARIES = "its layers differ from launch to launch"


class Comparison(msgspec.Struct, frozen=True):
    """How the layers of two files compare."""

    state: Literal["same", "different", "not comparable"]
    answer: str
    """A sentence or two."""
    layer: str = ""
    """The first that differs; empty: none does."""


def compare(first: Layers, second: Layers, names: tuple[str, str]) -> Comparison:
    """Compare two files.

    Parameters
    ----------
    first, second
        The files.
    names
        How the answer calls them.
    """
    if reason := not_comparable(first, second):
        return Comparison("not comparable", f"{names[0]} and {names[1]} cannot be compared: {reason}.")
    for name, each in zip(names, (first, second), strict=True):
        if steady(each) is None:
            where = first_difference(each.launches[0].layers, _other(each).layers)
            return Comparison("not comparable", f"{name} says nothing: {VARIES}, first {where or 'nowhere'}.")
    whole = {launch.output_sha256 for each in (first, second) for launch in each.launches}
    outputs = "The whole model's outputs are the same." if len(whole) == 1 else "The whole model's outputs differ."
    layer = first_difference(first.launches[0].layers, second.launches[0].layers)
    if layer:
        total = len(first.launches[0].layers)
        at = [each.name for each in first.launches[0].layers].index(layer) + 1
        return Comparison("different", f"The first layer that differs is {layer}, {at} of {total}. {outputs}", layer)
    if len(whole) > 1:
        return Comparison("different", f"No layer differs when the layers run one by one. {outputs}")
    return Comparison("same", f"All {len(first.launches[0].layers)} layers are the same. {outputs}")


def not_comparable(first: Layers, second: Layers) -> str:
    """Say why two files cannot be compared; empty where they can.

    Parameters
    ----------
    first, second
        The files.
    """
    if (first.arm, first.question) != (second.arm, second.question):
        return f"one is of {first.arm}/{first.question}, the other of {second.arm}/{second.question}"
    if content(first.image) != content(second.image):
        return "their images are not the same"
    if (first.data, first.items) != (second.data, second.items):
        return "their weights or inputs are not the same"
    if found := hardware_differences(first.hardware, second.hardware):
        return f"their hardware is not alike: {'; '.join(found)[:300]}"
    if [each.name for each in first.launches[0].layers] != [each.name for each in second.launches[0].layers]:
        return "their layers have other names"
    return ""


def content(image: Image) -> tuple[str, ...]:
    """Return digests of what is in an image, which two builds of the same have in common."""
    return image.layers or (image.lock_sha256, image.recipe_sha256, image.base, image.worker_sha256, image.python)


def steady(found: Layers) -> tuple[Layer, ...] | None:
    """Return the layers that all launches agree on; None where they do not."""
    first = found.launches[0].layers
    return first if all(each.layers == first for each in found.launches) else None


def first_difference(first: Sequence[Layer], second: Sequence[Layer]) -> str:
    """Return the name of the first layer that differs; empty where none does.

    Parameters
    ----------
    first, second
        Layers of the same names.
    """
    return next((one.name for one, other in zip(first, second, strict=False) if one != other), "")


def _other(found: Layers) -> Launch:
    return next(each for each in found.launches if each.layers != found.launches[0].layers)
