"""Publish images: from the engine to a container registry, with the engine's own credentials."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence

import docker
from docker.errors import APIError
from docker.models.images import Image

from levelfield.errors import LevelfieldError
from levelfield.images import base, engine, published, registry_answers
from levelfield.images.catalogue import Lock, stem
from levelfield.images.published import Published
from levelfield.images.recipe import Recipe, recipe
from levelfield.images.redistribution import restricted
from levelfield.images.wheels import Progress, silent
from levelfield.record.references import Reference

_SHOWN = 6
_ENDED = re.compile(r"\A(?:.*: )?digest: (sha256:[0-9a-f]{64}) ")
"""The engine's last line on a push, which holds the digest of the manifest (podman says it in no other place)."""


def push(
    images: Iterable[Reference],
    registry: str,
    *,
    base_source: base.Source = "debian",
    may_redistribute: bool = False,
    progress: Progress = silent,
) -> tuple[Published, ...]:
    """Push images that the engine has; nothing is pushed where one of them may not or cannot be.

    Raises LevelfieldError: an image is not built, holds what may not be passed on, or the registry does not take it.
    """
    check_address(registry)
    targets = {each: recipe(each.name, each.variant, each.version, base_source) for each in dict.fromkeys(images)}
    if not may_redistribute:
        _check_licences([target.lock for target in targets.values()])
    with engine.connect() as client:
        if kinds := engine.emulates(client):
            raise LevelfieldError(
                f"Images are pushed from a machine of their own kind, and this is an emulation ({kinds}).",
                fix="Build and push them there; locks and recipes are the same.",
            )
        built = {each: _built(client, each, target) for each, target in targets.items()}
        return tuple(_push(client, each, targets[each], image, registry, progress) for each, image in built.items())


def check_address(registry: str) -> None:
    """Raise a LevelfieldError where a text is no address of a registry."""
    if not re.fullmatch(published.REPOSITORY, registry):
        raise LevelfieldError(
            f"{registry!r} is no address of a container registry.",
            fix="Name its host and a folder, without https:// and a tag, such as registry.example.org/levelfield.",
        )


def _check_licences(locks: Sequence[Lock]) -> None:
    """Raise a LevelfieldError where locks name distributions that may not be passed on at will."""
    held = {lock.label: restricted(lock.versions) for lock in locks}
    kept_back = {label: names for label, names in held.items() if names}
    if not kept_back:
        return
    names = sorted({name for each in kept_back.values() for name in each})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise LevelfieldError(
        f"{', '.join(kept_back)} may not be published at will: the licences of {', '.join(names[:_SHOWN])}{more} "
        "restrict who may pass them on.",
        fix="Leave these images out, or add --i-may-redistribute if the licences allow it to you.",
    )


def _built(client: docker.DockerClient, name: Reference, target: Recipe) -> Image:
    image = engine.find(client, target.tag, target.identity)
    if image is None:
        raise LevelfieldError(
            f"The image {name} is not built, so that there is nothing to push.",
            fix=f"Run `levelfield images build {name}`.",
        )
    return image


def _push(
    client: docker.DockerClient, name: Reference, target: Recipe, image: Image, registry: str, progress: Progress
) -> Published:
    repository, tag = f"{registry}/{target.lock.image}", target.tag.rpartition(":")[2]
    progress(f"pushing {name} to {repository}")
    digest = ""
    with _tagged(client, image, repository, tag), registry_answers.asking(registry):
        for event in client.api.push(repository, tag, stream=True, decode=True):
            registry_answers.check(event, registry)
            ended = _ENDED.match(str(event.get("status", "")))
            digest = (event.get("aux") or {}).get("Digest") or (ended[1] if ended else digest)
    if not digest:
        raise LevelfieldError(
            f"The container engine does not say under which digest {repository} has the image.",
            fix="Push with another engine, such as Docker.",
        )
    return Published(
        image=target.lock.image,
        variant=stem(target.lock.variant, target.lock.version),
        identity=target.identity,
        reference=f"{repository}@{digest}",
        layers=engine.layers(image),
    )


@contextlib.contextmanager
def _tagged(client: docker.DockerClient, image: Image, repository: str, tag: str) -> Iterator[None]:
    """Give an image the name under which it is pushed, and take it away again unless it had it before."""
    before = f"{repository}:{tag}" in image.tags
    image.tag(repository, tag)
    try:
        yield
    finally:
        if not before:
            with contextlib.suppress(APIError):
                client.images.remove(f"{repository}:{tag}")
