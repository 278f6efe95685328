"""The file that `levelfield images push` writes: where each image is in a registry, by digest, and what it has to be.

It is read as a stranger's. What an image holds is its publisher's word: its labels say which recipe it was made from,
and the file says which layers it has. Images rebuild to the same layers, so that another build, or the record of a run,
shows whether they are right.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import docker
import msgspec
from docker.errors import APIError, DockerException
from docker.models.images import Image

from levelfield import untrusted
from levelfield.errors import LevelfieldError, clause, explained
from levelfield.images import base, engine
from levelfield.images.build import Recipe, recipe
from levelfield.images.catalogue import Lock, split_stem, stem
from levelfield.images.sbom import restricted
from levelfield.images.wheels import Progress, silent
from levelfield.record.references import Reference

NAME = "images.json"
FORMAT: Literal["levelfield-images-1"] = "levelfield-images-1"
MOST_BYTES = 1024 * 1024
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?|\[[0-9a-fA-F:]{2,39}\])(?::[0-9]{1,5})?"
_FOLDER = r"[a-z0-9]+(?:[._-]{1,2}[a-z0-9]+){0,50}"
REPOSITORY = rf"{_HOST}(?:/{_FOLDER}){{0,20}}"
"""An address in a registry, as container engines write it (`localhost:5000/levelfield`)."""
_DIGEST = r"sha256:[0-9a-f]{64}"

_Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A{_DIGEST}\Z")]
_Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._~@-]{0,250}\Z")]


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image in a registry."""

    image: _Name
    variant: _Name
    """Name of its lock, as in a run's record: `cpu`, `cpu@1.30.0`."""
    identity: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    """SHA-256 of all that it is made from: base, lock, recipe and worker code."""
    reference: Annotated[str, msgspec.Meta(pattern=rf"\A{REPOSITORY}@{_DIGEST}\Z", max_length=1000)]
    """Where it is, by the digest of its manifest."""
    layers: Annotated[tuple[_Digest, ...], msgspec.Meta(min_length=1, max_length=128)]
    """Digests of its unpacked layers, as in a run's record."""

    @property
    def name(self) -> Reference:
        """The image as it is typed: `onnxruntime@1.30.0`."""
        variant, version = split_stem(self.variant)
        return Reference(self.image, version, variant)


class ImagesFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    format: Literal["levelfield-images-1"]
    images: Annotated[tuple[Published, ...], msgspec.Meta(min_length=1, max_length=512)]


def write(images: tuple[Published, ...], file: Path) -> None:
    """Write the file.

    Raises LevelfieldError: it cannot be written.
    """
    content = msgspec.json.format(msgspec.json.encode(ImagesFile(format=FORMAT, images=images)), indent=1) + b"\n"
    with explained(f"{file} cannot be written", "Name another file with --output."):
        file.write_bytes(content)


def read(file: Path) -> ImagesFile:
    """Read a file that is not trusted.

    Raises LevelfieldError: with one sentence: it cannot be read, is too large, or is no such file.
    """
    with explained(f"{file} cannot be read", f"Name the {NAME} that `levelfield images push` wrote."):
        content = untrusted.read_plain(file, MOST_BYTES)
    return decode(content, str(file))


def decode(content: bytes, name: str) -> ImagesFile:
    """Decode a file's content.

    Raises LevelfieldError: it is no such file.
    """
    with explained(
        f"{name} names no images as `levelfield images push` writes them",
        f"Ask for its {NAME} again, or build the images here.",
        msgspec.MsgspecError,
        UnicodeDecodeError,
        RecursionError,
    ):
        return msgspec.json.decode(content, type=ImagesFile)


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
        built = {each: _built(client, each, target) for each, target in targets.items()}
        return tuple(_push(client, each, targets[each], image, registry, progress) for each, image in built.items())


def check_address(registry: str) -> None:
    """Raise a LevelfieldError where a text is no address of a registry."""
    if not re.fullmatch(REPOSITORY, registry):
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
    with _tagged(client, image, repository, tag), _asking(registry):
        for event in client.api.push(repository, tag, stream=True, decode=True):
            _check_event(event, registry)
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
    raise LevelfieldError(
        f"The file's image {wanted} is of another recipe ({entry.identity[:12]}) than this checkout's "
        f"({target.identity[:12]}): base, lock, recipe or worker code differ.",
        fix="Use the Levelfield and the --base that it was pushed with, or build it here without --from.",
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
    with _asking(repository):
        for event in client.api.pull(repository, digest, stream=True, decode=True):
            _check_event(event, repository)
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
    size = image.labels.get(engine.SIZE, "")
    known = target.image(entry.layers, int(size) if re.fullmatch("[0-9]{1,15}", size) else 0)
    expected = msgspec.json.decode(known.configuration)["config"]
    found = {name: value for name, value in (image.attrs["Config"] or {}).items() if value}
    labels, named = found.pop("Labels", {}), expected.pop("Labels")
    differing = [name for name in named if labels.get(name) != named[name]]
    differing += ["its layers"] if engine.layers(image) != entry.layers else []
    differing += [name for name in expected | found if found.get(name) != expected.get(name)]
    if differing:
        raise LevelfieldError(
            f"The image {entry.reference} is not what the file and the recipe of {entry.name} name: "
            f"{', '.join(differing)} differ.",
            fix="Do not use this file: build the image here, or ask its publisher.",
        )


def _check_event(event: dict[str, Any], registry: str) -> None:
    """Raise a LevelfieldError where the engine reports that the registry refused something."""
    if event.get("error"):
        raise _refused(registry, str(event["error"]))


@contextlib.contextmanager
def _asking(registry: str) -> Iterator[None]:
    """Turn errors of the engine into sentences on the registry.

    Raises LevelfieldError: in place of an error of the engine.
    """
    try:
        yield
    except DockerException as error:
        raise _refused(registry, str(getattr(error, "explanation", None) or error)) from error


def _refused(registry: str, reason: str) -> LevelfieldError:
    return LevelfieldError(
        f"The registry {registry} cannot be used: {clause(reason, 300)}.",
        fix="Check the address, and that the container engine reaches it and trusts its certificate; where it asks who "
        f"you are, run `docker login {registry.partition('/')[0]}`.",
    )
