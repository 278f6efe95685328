"""The container engine: reaching it, asking it to build, and removing all of ours from it and from the cache."""

import atexit
import contextlib
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import docker
import requests
from docker.errors import APIError, ImageNotFound
from docker.models.containers import Container
from docker.models.images import Image
from docker.types import Mount

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, layer, loading
from levelfield.machine import engine as machine_engine
from levelfield.machine.engine import ENGINE_ERRORS, is_dead, mark_of, short
from levelfield.paths import cache_folder, folders_to_clean, remove_tree

IDENTITY = "levelfield.identity"
"""Label with the full SHA-256 of everything an image was made from; its tag shows the start of it."""
SIZE = "levelfield.size_bytes"
"""Label with the size of the files in an image's layers; engines count in ways of their own."""
BUILD = "levelfield.build"
"""Label of a build's container: the process that builds (`machine.engine.mark_of`), a slash, and which build it is."""
BUILD_TIMEOUT_S = 1800
_CHUNK_BYTES = 1024 * 1024
_REMOVAL = "levelfield-removal"
"""Name of a thread that removes a container."""
_INSTALLER = "levelfield-install-"
"""How names of containers begin in which layers are made."""
USER_PROXIES = False
"""Whether the proxies of `~/.docker/config.json` enter builds and containers. They may hold a password, an image is
published, and neither builds nor workers have a network."""


@contextlib.contextmanager
def connect() -> Iterator[docker.DockerClient]:
    """Connect to the container engine.

    Raises LevelfieldError: none answers, it stops answering while it is used, or it refuses a step.
    """
    with contextlib.closing(open_client(BUILD_TIMEOUT_S)) as client:
        try:
            yield client
        except APIError as error:
            raise machine_engine.refused(str(error.explanation or error)) from error
        except requests.RequestException as error:
            raise LevelfieldError(
                f"The container engine stopped answering: {short(error)}.",
                fix="Start it again and repeat the command; what was built is kept.",
            ) from error


def open_client(timeout_s: int) -> docker.DockerClient:
    """Return a client of the engine that `docker` uses (`machine.engine.address`); the caller closes it.

    `timeout_s`: how long a single answer of the engine may take, in seconds. Raises LevelfieldError: none answers.
    """
    try:
        client = machine_engine.connect(timeout_s)
        client.ping()
    except ENGINE_ERRORS as error:
        raise no_engine(error) from error
    return client


def check_machine(client: docker.DockerClient) -> None:
    """Raise a LevelfieldError where the engine's processors are not of the kind that images are made for.

    A kind that the environment variable names is left to the engine, which may run it by emulation.
    """
    wanted, machine = catalogue.current_architecture(), _machine(client)
    if machine not in {wanted.name, wanted.debian} and not os.environ.get(catalogue.ARCHITECTURE_VARIABLE):
        raise LevelfieldError(
            f"The images are for {wanted.name}, and the container engine runs on {machine}.",
            fix="Use an engine on such a machine (DOCKER_HOST), or name its kind in "
            f"{catalogue.ARCHITECTURE_VARIABLE}; or `--launcher host` with frameworks of your own.",
        )


def emulates(client: docker.DockerClient) -> str:
    """Return the processor that the engine emulates for images, and its own: `aarch64 on x86_64`; empty: none."""
    wanted, machine = catalogue.current_architecture(), _machine(client)
    return "" if machine in {wanted.name, wanted.debian} else f"{wanted.name} on {machine}"


def _machine(client: docker.DockerClient) -> str:
    return str(client.info().get("Architecture", ""))


def find(client: docker.DockerClient, tag: str, identity: str) -> Image | None:
    """Return the image with this tag, provided that its label confirms its identity.

    Returns none where there is no such tag, or it is on another image.
    """
    try:
        image = client.images.get(tag)
    except ImageNotFound:
        return None
    return image if image.labels.get(IDENTITY) == identity else None


@contextlib.contextmanager
def container_of(
    client: docker.DockerClient, image: str, files: Iterable[tuple[str, Path | bytes]], *, command: list[str]
) -> Iterator[Container]:
    """Run a command in a container of an image, with no network, and yield the container after the command has ended.

    It is removed afterwards; see `wait_for_removals`.

    Raises LevelfieldError: the command failed; the sentence ends with its last output.
    """
    mark = f"{mark_of(os.getpid())}/{secrets.token_hex(8)}"
    container = client.containers.create(
        image,
        command,
        name=f"{_INSTALLER}{mark.rpartition('/')[2]}",
        hostname="levelfield",
        labels={BUILD: mark},
        mounts=[Mount("/mnt", None, type="volume")],
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        use_config_proxy=USER_PROXIES,
    )
    arguments = client, str(container.id)
    atexit.register(_remove_container, *arguments)  # the thread that waits for it may end with the process
    try:
        client.api.put_archive(str(container.id), "/mnt", loading.files_archive(files))
        container.start()
        code = container.wait(timeout=BUILD_TIMEOUT_S)["StatusCode"]
        if code:
            output = container.logs(tail=5).decode(errors="replace").splitlines()
            raise LevelfieldError(
                f"A step of building on {image} returned a non-zero code: {code}. Last output: {' / '.join(output)}",
                fix="The step runs with no network; see `docker images` and `df -h` for space.",
            )
        yield container
    finally:
        # No daemon: the command ends once the container is gone.
        threading.Thread(target=_remove_container, args=arguments, name=_REMOVAL).start()


def wait_for_removals() -> None:
    """Wait until the containers that `container_of` ran are removed: the engine deletes their files for a while."""
    for thread in threading.enumerate():
        if thread.name == _REMOVAL:
            thread.join()


def sweep(client: docker.DockerClient) -> None:
    """Remove the containers of builds whose process is dead."""
    with contextlib.suppress(APIError):  # they are only disk space, and the next build or `clean` takes them
        # By name: the containers of workers inherit their image's labels.
        for found in client.api.containers(all=True, filters={"name": _INSTALLER}):
            if is_dead(found["Labels"].get(BUILD, "").rpartition("/")[0]):
                _remove_container(client, found["Id"])


def _remove_container(client: docker.DockerClient, container_id: str) -> None:
    with contextlib.suppress(*ENGINE_ERRORS):
        client.api.remove_container(container_id, v=True, force=True)


def layers(image: Image) -> tuple[str, ...]:
    """Return the digests of an image's layers (`RootFS.Layers`)."""
    return tuple(image.attrs["RootFS"]["Layers"])


def size_bytes(image: Image) -> int:
    """Return the size of the files in an image's layers; of an image that is not ours, what the engine says."""
    return int(image.labels.get(SIZE, image.attrs["Size"]))


def layer_of(container: Container, folder: str, at: str, target: BinaryIO) -> layer.Layer:
    """Write a folder of a container as a layer in which its content lies at another path; see `layer.of_folder`."""
    with tempfile.TemporaryFile(dir=cache_folder("downloads")) as spool:
        pieces, _ = container.get_archive(folder, chunk_size=_CHUNK_BYTES)
        spool.writelines(pieces)
        spool.seek(0)
        return layer.of_folder(spool, at, target)


def no_engine(error: Exception) -> LevelfieldError:
    """Return the error for a user whose container engine does not answer, or does not let them in."""
    if isinstance(error, PermissionError):
        return LevelfieldError(
            "The container engine does not let you in.", fix="Add yourself to its group (docker), or run as root."
        )
    return LevelfieldError(
        f"No container engine answers: {short(error)}.",
        fix="Start one (Debian: apt-get install docker.io iptables; systemctl start docker), name one in DOCKER_HOST, "
        "or use `--launcher venv`.",
    )


LABEL = "levelfield.image"


def clean() -> None:
    """Remove our images, virtual environments, wheels, Debian packages and artifacts; reports stay.

    Images are found by their label; other images are not touched, nor an image in use by a container.

    Raises LevelfieldError: a file in the cache cannot be removed.
    """
    with contextlib.suppress(LevelfieldError), connect() as client:  # no engine: nothing of ours is in one
        remove_images(client)
    clean_cache()


def clean_cache() -> None:
    try:
        for folder in folders_to_clean()[0]:
            with contextlib.suppress(RecursionError):  # of a tree that is too deep for it
                shutil.rmtree(folder)
            remove_tree(folder)
    except OSError as error:
        raise LevelfieldError(
            f"{error.filename} cannot be removed: {error.strerror}.", fix="Remove it by hand, or as its owner."
        ) from error


def remove_images(client: docker.DockerClient, label: str = LABEL) -> None:
    """Remove every image with a label, except those that containers use and those that are being built."""
    sweep(client)
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
