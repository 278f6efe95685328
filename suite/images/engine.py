"""The container engine: reaching it, and asking it to build."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound
from docker.models.images import Image

from suite.errors import LevelfieldError
from suite.images.catalogue import MACHINE
from suite.machine.engine import knock, short

IDENTITY = "levelfield.identity"
"""Label with the full SHA-256 of everything an image was made from; its tag shows the beginning."""
BUILD_TIMEOUT_S = 1800


@contextlib.contextmanager
def connect() -> Iterator[docker.DockerClient]:
    """Connect to the container engine.

    Raises
    ------
    LevelfieldError
        None answers, or it stops answering while it is used.
    """
    try:
        knock()
        client = docker.from_env(timeout=BUILD_TIMEOUT_S)
    except (DockerException, OSError) as error:
        raise _no_engine(error) from error
    with contextlib.closing(client):
        try:
            yield client
        except requests.RequestException as error:
            raise LevelfieldError(
                f"The container engine stopped answering: {short(error)}.",
                fix="Start it again and repeat the command; what was built is kept.",
            ) from error


def check_machine(client: docker.DockerClient) -> None:
    """Raise a LevelfieldError where the engine runs on another kind of machine than the locks are for."""
    machine = str(client.info().get("Architecture", ""))
    if machine not in {MACHINE, "amd64"}:
        raise LevelfieldError(
            f"The images are for {MACHINE}, and the container engine runs on {machine}.",
            fix="Use an engine on such a machine (DOCKER_HOST), or `--launcher host` with frameworks of your own.",
        )


def find(client: docker.DockerClient, tag: str, identity: str) -> Image | None:
    """Return the image with this tag if it is what its tag says, else None."""
    try:
        image = client.images.get(tag)
    except ImageNotFound:
        return None
    return image if image.labels.get(IDENTITY) == identity else None


def build(
    client: docker.DockerClient,
    context: BinaryIO,
    *,
    recipe: str,
    tag: str,
    arguments: dict[str, str],
    labels: dict[str, str],
    use_cache: bool = True,
) -> Image:
    """Build an image from a context with no network, and return it.

    Parameters
    ----------
    context : file
        A tar archive, at its beginning.
    recipe : str
        Name of the Dockerfile in it.
    use_cache : bool
        Whether the engine may reuse steps of earlier builds.

    Raises
    ------
    LevelfieldError
        A step failed; the sentence ends with what it said last.
    """
    said: list[str] = []
    failure = ""
    try:
        events = client.api.build(
            fileobj=context,
            custom_context=True,
            dockerfile=recipe,
            tag=tag,
            buildargs=arguments,
            labels=labels,
            network_mode="none",
            nocache=not use_cache,
            rm=True,
            forcerm=True,
            decode=True,
        )
        for event in events:
            said += _words(event)
            failure = failure or str(event.get("error", "")).strip()
    except APIError as error:
        raise LevelfieldError(
            f"The container engine refused to build {tag}: {error.explanation or error}", fix="See the engine's log."
        ) from error
    if failure:
        failure = re.sub(r"^The command '.*' returned a", "A step returned a", failure, flags=re.DOTALL)
        raise LevelfieldError(
            f"Building {tag} failed: {failure} It said last: {' / '.join(said[-5:])}",
            fix="The recipe runs with no network; see `docker images` and `df -h` for space.",
        )
    return client.images.get(tag)


def remove_dangling(client: docker.DockerClient, label: str) -> None:
    """Remove images with a label that no tag names any more: stages of a build, and what a newer build replaced."""
    with contextlib.suppress(APIError):  # they are only disk space, and the next `clean` takes them
        client.images.prune(filters={"dangling": True, "label": label})


def layers(image: Image) -> tuple[str, ...]:
    """Return the digests of an image's layers (`RootFS.Layers`)."""
    return tuple(image.attrs["RootFS"]["Layers"])


def _words(event: dict[str, Any]) -> list[str]:
    return [line.strip() for line in event.get("stream", "").splitlines() if line.strip()]


def _no_engine(error: Exception) -> LevelfieldError:
    if isinstance(error, PermissionError):
        return LevelfieldError(
            "The container engine does not let you in.", fix="Add yourself to its group (docker), or run as root."
        )
    return LevelfieldError(
        f"No container engine answers: {short(error)}.",
        fix="Start one (Debian: apt-get install docker.io iptables; systemctl start docker), name one in DOCKER_HOST, "
        "or use `--launcher venv`.",
    )
