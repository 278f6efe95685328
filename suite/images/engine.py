"""The container engine: reaching it, and asking it to build."""

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import docker
import requests
from docker.errors import APIError, ImageNotFound
from docker.models.images import Image
from docker.types import Mount

from suite.errors import LevelfieldError
from suite.images import architectures, archive
from suite.images.architectures import Architecture
from suite.machine import engine as machine_engine
from suite.machine import owner
from suite.machine.engine import ENGINE_ERRORS, short
from suite.paths import cache_folder

IDENTITY = "levelfield.identity"
"""Label with the full SHA-256 of everything an image was made from; its tag shows the start of it."""
BUILD = "levelfield.build"
"""Label of every step of a build, and so of its image: the process that builds (`suite.machine.owner`), a slash, and
which of its builds it is."""
BUILD_TIMEOUT_S = 1800
_RECIPE = "Dockerfile"
_INSTALLER = "levelfield-install-"
"""How names of containers begin in which environments are made."""
USER_PROXIES = False
"""Whether the proxies of `~/.docker/config.json` enter builds and containers. They may hold a password, an image is
published, and neither builds nor workers have a network."""


@contextlib.contextmanager
def connect() -> Iterator[docker.DockerClient]:
    """Connect to the container engine.

    Raises
    ------
    LevelfieldError
        None answers, it stops answering while it is used, or it refuses a step.
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
    """Return a client of the engine that `docker` uses (`suite.machine.engine.address`); the caller closes it.

    Parameters
    ----------
    timeout_s
        How long a single answer of the engine may take, in seconds.

    Raises
    ------
    LevelfieldError
        None answers.
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
    wanted, machine = architectures.current(), _machine(client)
    if machine not in {wanted.name, wanted.debian} and not os.environ.get(architectures.VARIABLE):
        raise LevelfieldError(
            f"The images are for {wanted.name}, and the container engine runs on {machine}.",
            fix=f"Use an engine on such a machine (DOCKER_HOST), or name its kind in {architectures.VARIABLE}; or "
            "`--launcher host` with frameworks of your own.",
        )


def emulates(client: docker.DockerClient) -> str:
    """Return the processor that the engine emulates for images, and its own: `aarch64 on x86_64`; empty: none.

    Parameters
    ----------
    client
        A connected engine.
    """
    wanted, machine = architectures.current(), _machine(client)
    return "" if machine in {wanted.name, wanted.debian} else f"{wanted.name} on {machine}"


def _machine(client: docker.DockerClient) -> str:
    return str(client.info().get("Architecture", ""))


def import_base(client: docker.DockerClient, tar: Path, name: str, changes: list[str], wanted: Architecture) -> None:
    """Make an image of the files of an archive, as an image of a kind of processor.

    Parameters
    ----------
    client
        A connected engine.
    tar
        Root file system.
    name
        Of the image, with its tag.
    changes
        Instructions of a Dockerfile.
    wanted
        Kind of processor of the files.
    """
    if not emulates(client):
        # Name and tag in one: podman overlooks the parameter `tag`.
        client.api.import_image_from_file(str(tar), repository=name, changes=changes)
        return
    # The library's own method has no parameter for the platform.
    address = f"{client.api.base_url}/v{client.api.api_version}/images/create"
    query = {"fromSrc": "-", "repo": name, "changes": changes, "platform": wanted.platform}
    with tar.open("rb") as stream:
        answer = client.api.post(
            address, params=query, data=stream, headers={"Content-Type": "application/tar"}, timeout=BUILD_TIMEOUT_S
        )
    if not answer.ok:
        raise APIError(answer.text, response=answer)


def find(client: docker.DockerClient, tag: str, identity: str) -> Image | None:
    """Return the image with this tag, provided that its label confirms its identity.

    Parameters
    ----------
    client
        A connected engine.
    tag
        Repository and tag. A tag can be moved to another image, so it alone proves nothing.
    identity
        Expected value of the label `IDENTITY`.

    Returns
    -------
    Image or None
        None where there is no such tag, or it is on another image.
    """
    image = _find_tag(client, tag)
    return image if image is not None and image.labels.get(IDENTITY) == identity else None


def build(
    client: docker.DockerClient,
    files: Iterable[tuple[str, Path | bytes]],
    *,
    recipe: bytes,
    tag: str,
    arguments: dict[str, str],
    labels: dict[str, str],
) -> Image:
    """Build an image with no network, and return it.

    Parameters
    ----------
    client
        A connected engine.
    files : iterable of (str, Path or bytes)
        The build's context: name and content.
    recipe : bytes
        The Dockerfile.
    tag : str
        Name of the image. An image that had this name before is removed, unless it is in use or another process that
        may still be alive built it.
    arguments, labels : dict of str to str
        Build arguments, and labels of the image, by name.

    Raises
    ------
    LevelfieldError
        A step failed; the sentence ends with its last output.

    Notes
    -----
    The engine keeps every step of a build as an image without a name, until a later step is based on it. Another
    process that removes such images would break a build that is still running. So every stage begins with a label
    that no other build has: no two builds have a step in common, and a build removes by that label what is its own.
    The label stays on the image; it changes no layer.
    """
    output: list[str] = []
    failure = ""
    with _replacing(client, tag) as mark, tempfile.TemporaryFile(dir=cache_folder("downloads")) as context:
        labelled = re.sub(rb"(?m)^FROM .*$", rb'\g<0>\nLABEL %s="%s"' % (BUILD.encode(), mark.encode()), recipe)
        archive.write(context, [(_RECIPE, labelled), *files])
        context.seek(0)
        try:
            for event in client.api.build(
                fileobj=context,
                custom_context=True,
                dockerfile=_RECIPE,
                tag=tag,
                buildargs=arguments,
                labels=labels,
                network_mode="none",
                nocache=True,
                rm=True,
                forcerm=True,
                decode=True,
                use_config_proxy=USER_PROXIES,
            ):
                output += [line.strip() for line in event.get("stream", "").splitlines() if line.strip()]
                failure = failure or str(event.get("error", "")).strip()
        except APIError as error:
            raise LevelfieldError(
                f"The container engine refused to build {tag}: {error.explanation or error}",
                fix="See the engine's log.",
            ) from error
        if failure:
            failure = re.sub(r"^The command '.*' returned a", "A step returned a", failure, flags=re.DOTALL)
            raise _failed(tag, failure, output)
        return client.images.get(tag)


def run_and_commit(
    client: docker.DockerClient,
    base: str,
    files: Iterable[tuple[str, Path | bytes]],
    *,
    command: list[str],
    tag: str,
    labels: dict[str, str],
) -> Image:
    """Run a command in a container of an image, with no network, and return an image with what it wrote as one layer.

    A build from a Dockerfile writes every file three times: what it is given, what it installs, and what it copies
    into the last stage, and it hashes each of these layers. Here files are written and hashed once.

    Parameters
    ----------
    client
        A connected engine.
    base : str
        The image.
    files : iterable of (str, Path or bytes)
        Name and content of what the command finds in `/mnt`, a volume that is no part of the layer.
    command : list of str
        What runs, as the base's user.
    tag, labels
        As for `build`.

    Raises
    ------
    LevelfieldError
        The command failed; the sentence ends with its last output.
    """
    with _replacing(client, tag) as mark, tempfile.TemporaryFile(dir=cache_folder("downloads")) as inputs:
        archive.write(inputs, files)
        inputs.seek(0)
        container = client.containers.create(
            base,
            command,
            name=f"{_INSTALLER}{mark.rpartition('/')[2]}",
            hostname="levelfield",
            labels={**labels, BUILD: mark},
            mounts=[Mount("/mnt", None, type="volume")],
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            use_config_proxy=USER_PROXIES,
        )
        container.put_archive("/mnt", inputs)
        container.start()
        code = container.wait(timeout=BUILD_TIMEOUT_S)["StatusCode"]
        if code:
            output = container.logs(tail=5).decode(errors="replace").splitlines()
            raise _failed(tag, f"A step returned a non-zero code: {code}.", output)
        repository, _, name = tag.rpartition(":")
        config = client.images.get(base).attrs["Config"]
        return container.commit(repository, name, conf={"Cmd": config["Cmd"]})


@contextlib.contextmanager
def _replacing(client: docker.DockerClient, tag: str) -> Iterator[str]:
    """Yield the mark of a build, and remove afterwards what it left and the image that had its name before.

    The image of that name stays where it is in use, or where another process that may still be alive built it.
    """
    process = owner.mark_of(os.getpid())
    mark = f"{process}/{secrets.token_hex(8)}"
    before = _find_tag(client, tag)
    try:
        yield mark
    finally:
        remove_dangling(client, lambda each: each == mark)
    if before is not None and _find_tag(client, tag) != before:
        built_by = before.labels.get(BUILD, "")
        if built_by.startswith(f"{process}/") or not built_by or builder_is_dead(built_by):
            _remove(client, str(before.id))


def _failed(tag: str, failure: str, output: list[str]) -> LevelfieldError:
    return LevelfieldError(
        f"Building {tag} failed: {failure} Last output: {' / '.join(output[-5:])}",
        fix="The recipe runs with no network; see `docker images` and `df -h` for space.",
    )


def remove_dangling(client: docker.DockerClient, chosen: Callable[[str], bool]) -> None:
    """Remove what builds left behind: their containers, and images without a tag that no other image is based on.

    Parameters
    ----------
    client
        A connected engine.
    chosen : callable
        Whether what a build left is to go, by the value of its label `BUILD`.
    """
    with contextlib.suppress(APIError):  # they are only disk space, and the next `clean` takes them
        # By name: the containers of workers inherit their image's labels.
        for found in client.api.containers(all=True, filters={"name": _INSTALLER}):
            if chosen(found["Labels"].get(BUILD, "")):
                with contextlib.suppress(APIError):
                    client.api.remove_container(found["Id"], v=True, force=True)
        # Not `prune`, which fails while another prune runs, and not `images.list`, which fails if one is removed
        # meanwhile.
        for found in client.api.images(filters={"dangling": True, "label": BUILD}):
            if chosen((found["Labels"] or {}).get(BUILD, "")):
                _remove(client, found["Id"])


def builder_is_dead(mark: str) -> bool:
    """Return whether the process of a build can be shown to be dead, by the value of the label `BUILD`."""
    return owner.is_dead(mark.rpartition("/")[0])


def is_being_built(mark: str) -> bool:
    """Return whether the process of a build is here and alive, by the value of the label `BUILD`."""
    process = mark.rpartition("/")[0]
    pid = process.partition(":")[0]
    return pid.isdigit() and owner.mark_of(int(pid)) == process


def _find_tag(client: docker.DockerClient, tag: str) -> Image | None:
    try:
        return client.images.get(tag)
    except ImageNotFound:
        return None


def _remove(client: docker.DockerClient, image_id: str) -> None:
    """Remove an image and the steps below it, unless it has a name, is in use or another image is based on it."""
    with contextlib.suppress(APIError):
        client.images.remove(image_id)


def layers(image: Image) -> tuple[str, ...]:
    """Return the digests of an image's layers (`RootFS.Layers`)."""
    return tuple(image.attrs["RootFS"]["Layers"])


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
