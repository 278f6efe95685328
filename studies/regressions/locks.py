"""Locks of the versions that are compared here and nowhere else, kept in the trial's folder.

`levelfield list` and the trial of upgrades are about the versions locked under `images/`. These would crowd them, so
they are copied into the cache, where the catalogue looks for a version that has no lock there.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from studies.regressions.pairs import Pair
from suite.backends import registry
from suite.images import catalogue

HERE = Path(__file__).parent / "locks"


def required(pairs: Iterable[Pair]) -> tuple[tuple[str, str], ...]:
    """Return the images and versions that pairs need, each once, in order."""
    each = {(registry.get(pair.backend).image, version) for pair in pairs for version in (pair.old, pair.new)}
    return tuple(sorted(each, key=lambda one: (one[0], catalogue.version_key(one[1]))))


def path_of(image: str, version: str) -> Path:
    """Return where the trial keeps the lock of a version."""
    return HERE / image / f"{catalogue.stem('cpu', version)}.lock"


def missing(pairs: Iterable[Pair]) -> tuple[tuple[str, str], ...]:
    """Return the images and versions that have a lock neither under `images/` nor here."""
    return tuple(
        (image, version)
        for image, version in required(pairs)
        if version not in catalogue.versions(image) and not path_of(image, version).is_file()
    )


def install(pairs: Iterable[Pair]) -> None:
    """Copy the locks of pairs to where the catalogue finds them."""
    for image, version in required(pairs):
        kept = path_of(image, version)
        if kept.is_file():
            folder = catalogue.mixed_folder(image)
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept, folder / kept.name)
