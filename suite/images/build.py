"""Build images: from a base, locked wheels and a recipe, with no network; what is already there is reused."""

import docker
from docker.models.images import Image as EngineImage

from suite.images import archive, base, catalogue, engine, wheels, worker_code
from suite.images.recipe import ENVIRONMENT, WORKER, Recipe, recipe
from suite.images.wheels import Progress, silent
from suite.paths import cache_folder, disk_space, file_lock, images_root
from suite.record.schema import Image


def build(
    name: str,
    variant: str = "cpu",
    version: str | None = None,
    *,
    base_kind: base.Kind = "debian",
    use_cache: bool = True,
    progress: Progress = silent,
) -> Image:
    """Return an image as a run's record describes it, built if the engine does not have it.

    Parameters
    ----------
    name, variant, version
        Which lock; see `suite.images.catalogue.lock`.
    base_kind : {"debian", "registry"}
        Where the base comes from; part of the image's identity.
    use_cache : bool
        False builds again from the start, although the engine has the image (the base is kept).
    progress : callable
        Called with one short line whenever a step begins.

    Raises
    ------
    LevelfieldError
        No engine answers, a wheel is wrong or missing, the base cannot be made, or a step of the recipe failed.
    """
    target = recipe(name, variant, version, base_kind)
    with engine.connect() as client, disk_space():
        image = engine.find(client, target.tag, target.identity) if use_cache else None
        if image is None:
            image = _made(client, target, use_cache=use_cache, progress=progress)
    return Image(
        name=name,
        variant=catalogue.stem(variant, version),
        launcher="docker",
        tag=target.tag,
        image_id=str(image.id),
        layers=engine.layers(image),
        lock_sha256=target.lock.sha256,
        base=target.base.label,
        recipe_sha256=target.recipe_sha256,
        worker_sha256=target.worker_sha256,
        plugins=worker_code.distributions(name),
        architecture=target.lock.architecture.name,
        size_bytes=int(image.attrs["Size"]),
    )


def _made(client: docker.DockerClient, target: Recipe, *, use_cache: bool, progress: Progress) -> EngineImage:
    """Build an image while other builds on the same environment wait."""
    guard = cache_folder("downloads") / f"{target.lock.image}-{target.environment_identity[:20]}.lock"
    with file_lock(guard, waiting=lambda: progress(f"waiting for another build of {target.lock.label}")):
        image = engine.find(client, target.tag, target.identity) if use_cache else None
        if image is None:  # no other process has built it meanwhile
            engine.remove_dangling(client, engine.builder_is_dead)
            _environment(client, target, use_cache=use_cache, progress=progress)
            image = engine.build(
                client,
                [
                    (f"files/opt/levelfield/worker/{name}", content)
                    for name, content in worker_code.files(target.lock.image).items()
                ],
                recipe=(images_root() / WORKER).read_bytes(),
                tag=target.tag,
                arguments={"ENVIRONMENT": target.environment_tag},
                labels=target.labels,
            )
        return image


def _environment(client: docker.DockerClient, target: Recipe, *, use_cache: bool, progress: Progress) -> None:
    if use_cache and engine.find(client, target.environment_tag, target.environment_identity):
        return
    engine.check_machine(client)
    files = wheels.fetch(target.lock, progress=progress)
    base.ensure(client, target.base, progress=progress)
    progress(f"installing {len(files)} wheels of {target.lock.label}, no network")
    engine.run_and_commit(
        client,
        target.base.reference,
        [
            ("inputs/environment.sh", images_root() / ENVIRONMENT),
            ("inputs/requirements.lock", target.lock.path),
            *((f"inputs/wheels/{file.name}", file) for file in files),
        ],
        command=["/bin/sh", "/mnt/inputs/environment.sh", str(archive.EPOCH)],
        tag=target.environment_tag,
        labels={"levelfield.image": f"{target.lock.image}-env", engine.IDENTITY: target.environment_identity},
    )
