"""What all images of a run have in common, so that the page says it once."""

from collections.abc import Sequence

import msgspec

from levelfield.record.schema import Artifact, Image

_FACTS = (("base", "base"), ("recipe SHA-256", "recipe_sha256"), ("worker SHA-256", "worker_sha256"))
FROM_SHARED = 2
"""Images from which on there is something to share."""


class Shared(msgspec.Struct, frozen=True):
    """Facts and distributions that every image has alike."""

    facts: tuple[tuple[str, str], ...] = ()
    distributions: tuple[tuple[str, str], ...] = ()


def shared(images: Sequence[Image]) -> Shared:
    """Return what all images have alike; nothing where there is only one."""
    if len(images) < FROM_SHARED:
        return Shared()
    facts = tuple(
        (title, value)
        for title, name in _FACTS
        if (value := getattr(images[0], name)) and all(getattr(image, name) == value for image in images)
    )
    first = images[0].distributions.items()
    alike = tuple(each for each in first if all(image.distributions.get(each[0]) == each[1] for image in images))
    return Shared(facts, alike)


def own_facts(image: Image, common: Shared) -> tuple[tuple[str, str], ...]:
    """Return the digests of an image that are not those of all."""
    said = {title for title, _ in common.facts}
    facts = [(title, getattr(image, name)) for title, name in _FACTS if title not in said]
    lines = [("image id", image.image_id), *facts[:1], ("lock SHA-256", image.lock_sha256), *facts[1:]]
    return tuple((title, value) for title, value in lines if value)


def made_by(artifacts: Sequence[Artifact]) -> dict[str, str]:
    """Return what made all artifacts that say so; empty where they differ."""
    makers = [artifact.made_by for artifact in artifacts if artifact.made_by]
    return makers[0] if makers and all(each == makers[0] for each in makers) else {}
