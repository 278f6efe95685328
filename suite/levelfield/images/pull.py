"""Take published images instead of building them: pulled by digest, and compared with what this checkout asks for.

What an image holds is its publisher's word: its labels say which recipe it was made from, and the file says which
layers it has. Images rebuild to the same layers, so that another build, or the record of a run, shows whether they are
right.
"""

import contextlib
from collections.abc import Iterable

import docker
from docker.errors import APIError
from docker.models.images import Image

from levelfield.errors import LevelfieldError
from levelfield.images import base, engine, registry_answers
from levelfield.images.catalogue import stem
from levelfield.images.published import ImagesFile, Published
from levelfield.images.recipe import Recipe, recipe
from levelfield.images.wheels import Progress, silent
from levelfield.record.references import Reference

_USER = "65534:65534"
"""Whom `images/worker.toml` names; containers of workers have a user of their own all the same."""


def pull(
    file: ImagesFile,
    images: Iterable[Reference] = (),
    *,
    base_source: base.Source = "debian",
    progress: Progress = silent,
) -> tuple[Reference, ...]:
    """Give images of a file the names that builds give them; the engine pulls those that it does not have.

    `file`: what was published; it is not trusted. Raises LevelfieldError: the file has no such image, or one of another
    recipe than this checkout's; the registry does not give it, or gives another one. Nothing is pulled before all names
    and recipes are known to be right.
    """
    wanted = tuple(images) or tuple(each.name for each in file.images)
    found = [_of_this_checkout(file, each, base_source) for each in wanted]
    with engine.connect() as client:
        for target, entry in found:
            _ensure(client, target, entry, progress)
    return wanted


def _of_this_checkout(file: ImagesFile, wanted: Reference, base_source: base.Source) -> tuple[Recipe, Published]:
    """Return what an image is made from here, and where it is; the two have the same identity."""
    target = recipe(wanted.name, wanted.variant, wanted.version, base_source)
    key = target.lock.image, stem(target.lock.variant, target.lock.version)
    entry = next((each for each in file.images if (each.image, each.variant) == key), None)
    if entry is None:
        raise LevelfieldError(
            f"The file names no image {wanted}.",
            fix=f"It names {', '.join(str(each.name) for each in file.images)}: leave the others out, or build them.",
        )
    if entry.identity == target.identity:
        return target, entry
    for other in ("debian", "registry"):
        if recipe(wanted.name, wanted.variant, wanted.version, other).identity == entry.identity:
            raise LevelfieldError(
                f"The file's image {wanted} stands on another base.", fix=f"Add --base {other}, here and to the run."
            )
    raise LevelfieldError(
        f"The file's image {wanted} is of another recipe ({entry.identity[:12]}) than this checkout's "
        f"({target.identity[:12]}): base, lock, recipe or worker code differ.",
        fix="Use the Levelfield that it was pushed with, or build it here without --from.",
    )


def _ensure(client: docker.DockerClient, target: Recipe, entry: Published, progress: Progress) -> None:
    here = engine.find(client, target.tag, target.identity)
    if here is not None:
        if engine.layers(here) != entry.layers:
            raise LevelfieldError(
                f"The image {entry.name} that is here has other layers than the file names.",
                fix=f"Run `docker rmi {target.tag}` to take the file's, or leave --from out to keep what is here.",
            )
        progress(f"{entry.name} is here already, with the layers that the file names")
        return
    repository, _, digest = entry.reference.partition("@")
    progress(f"pulling {entry.reference}")
    with registry_answers.asking(repository):
        for event in client.api.pull(repository, digest, stream=True, decode=True):
            registry_answers.check(event, repository)
        image = client.images.get(entry.reference)
    try:
        _check(image, target, entry)
        name, _, tag = target.tag.rpartition(":")
        image.tag(name, tag)
    finally:
        # The name by which it was pulled: a build gives none, and an image that was refused goes with it.
        with contextlib.suppress(APIError):
            client.images.remove(entry.reference)


def _check(image: Image, target: Recipe, entry: Published) -> None:
    """Raise a LevelfieldError where a pulled image is not what the file and the recipe say."""
    labels = image.labels
    differing = [name for name, value in target.labels.items() if labels.get(name) != value]
    if engine.layers(image) != entry.layers:
        differing.append("its layers")
    if (image.attrs["Config"] or {}).get("User") != _USER:
        differing.append("its user")
    if differing:
        raise LevelfieldError(
            f"The image {entry.reference} is not what the file and the recipe of {entry.name} name: "
            f"{', '.join(differing)} differ.",
            fix="Do not use this file: build the image here, or ask its publisher.",
        )
