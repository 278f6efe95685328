"""The CUDA variants of an image, by the locks that are there."""

import msgspec

from levelfield.compatibility import known_bad, selection, table
from levelfield.compatibility.devices import Nvidia
from levelfield.compatibility.selection import Choice
from levelfield.images import catalogue


def cuda_variants(image_name: str, version: str | None = None) -> dict[str, str]:
    """Return each CUDA variant of an image with the CUDA release of its lock.

    `version`: version of the framework; None for the current locks. Raises LevelfieldError: there is no such image, or
    a lock is not one of ours.
    """
    releases = {
        variant: known_bad.cuda_release(catalogue.lock(image_name, variant, version).versions)
        for variant, name in catalogue.lock_names(image_name)
        if name == version and variant.startswith("cu")
    }
    return {variant: release for variant, release in releases.items() if release is not None}


def choose(
    image_name: str, nvidia: Nvidia, *, version: str | None = None, requested: str | None = None, gpu: int | None = None
) -> Choice:
    """Choose the CUDA variant of an image for this machine, with warnings of versions known to compute wrongly.

    Nothing is fetched: locks and drivers name their versions.

    `image_name`, `version`: an image of the catalogue, and a version of its framework; None for the current locks.
    `gpu`: index of the one GPU to use; None: the variant should suit all of them. Returns its variant is None, with the
    reason, where none runs here. Raises LevelfieldError: there is no such image, or no such variant of it.
    """
    rows = table.read()
    choice = selection.choose(rows, nvidia, cuda_variants(image_name, version), requested=requested, gpu=gpu)
    if choice.variant is None:
        return choice
    versions = known_bad.libraries(catalogue.lock(image_name, choice.variant, version).versions)
    rules = known_bad.matching(rows, versions, nvidia.chosen(gpu))
    bad = [known_bad.sentence(rule, versions) for rule in rules]
    return msgspec.structs.replace(choice, warnings=(*choice.warnings, *bad))
