"""Free the disk of everything that levelfield can make again."""

import shutil

import docker
from docker.errors import APIError

from levelfield.errors import LevelfieldError
from levelfield.images import engine
from levelfield.images.build import disk_usage
from levelfield.paths import folders_to_clean

LABEL = "levelfield.image"


def clean() -> int:
    """Remove our images, virtual environments, wheels, Debian packages and artifacts; reports stay.

    Images are found by their label; other images are not touched, nor an image in use by a container.

    Raises LevelfieldError: a file in the cache cannot be removed.
    """
    return _clean_engine() + clean_cache()


def clean_cache() -> int:
    """Empty the cache; return the bytes freed."""
    freed = 0
    try:
        for folder in folders_to_clean()[0]:
            freed += disk_usage(folder)
            shutil.rmtree(folder)
    except OSError as error:
        raise LevelfieldError(
            f"{error.filename} cannot be removed: {error.strerror}.", fix="Remove it by hand, or as its owner."
        ) from error
    return freed


def _clean_engine() -> int:
    try:
        with engine.connect() as client:
            before = _layers_bytes(client)
            remove_images(client)
            return max(0, before - _layers_bytes(client))
    except LevelfieldError:
        return 0  # no engine: nothing of ours is in one


def remove_images(client: docker.DockerClient, label: str = LABEL) -> None:
    """Remove every image with a label, except those that containers use and those that are being built."""
    engine.sweep(client)
    # An image goes only after those that are based on it, so tags are removed until a pass removes none.
    while True:
        removed = 0
        for image in client.api.images(filters={"label": label}):
            tags = [tag for tag in image["RepoTags"] or () if tag != "<none>:<none>"]
            for reference in tags or [image["Id"]]:
                try:
                    client.images.remove(reference)
                    removed += 1
                except APIError:
                    continue  # in use, or another image is based on it
        if not removed:
            return


def _layers_bytes(client: docker.DockerClient) -> int:
    return int(client.df().get("LayersSize") or 0)
