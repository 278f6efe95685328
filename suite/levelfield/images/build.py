"""Build images: from a base, locked wheels and a recipe, with no network; what is already there is reused."""

from pathlib import Path

import docker
from docker.models.images import Image as EngineImage

from levelfield.images import base, catalogue, engine, layer, loading, wheels, worker_code
from levelfield.images.recipe import ENVIRONMENT, Recipe, recipe
from levelfield.images.wheels import Progress, silent
from levelfield.paths import cache_folder, disk_space, file_lock, images_root, temporary_folder
from levelfield.record.schema import Image

_INSTALLED = "/opt/levelfield/env"


def build(
    name: str,
    variant: str = "cpu",
    version: str | None = None,
    *,
    base_source: base.Source = "debian",
    use_cache: bool = True,
    progress: Progress = silent,
) -> Image:
    """Return an image as a run's record describes it, built if the engine does not have it.

    Raises LevelfieldError: no engine answers, a wheel is wrong or missing, the base cannot be made, or a step of the
    recipe failed.
    """
    target = recipe(name, variant, version, base_source)
    with engine.connect() as client, disk_space():
        image = engine.find(client, target.tag, target.identity) if use_cache else None
        if image is None:
            image = _made(client, target, use_cache=use_cache, progress=progress)
    layers, size_bytes = engine.layers(image), engine.size_bytes(image)
    return Image(
        name=name,
        variant=catalogue.stem(variant, version),
        launcher="docker",
        tag=target.tag,
        image_id=target.image(layers, size_bytes).image_id,
        layers=layers,
        lock_sha256=target.lock.sha256,
        base=target.base.label,
        recipe_sha256=target.recipe_sha256,
        worker_sha256=target.worker_sha256,
        plugins=worker_code.distributions(name),
        architecture=target.lock.architecture.name,
        size_bytes=size_bytes,
    )


def _made(client: docker.DockerClient, target: Recipe, *, use_cache: bool, progress: Progress) -> EngineImage:
    """Build an image while other builds on the same environment wait."""
    guard = cache_folder("downloads") / f"{target.lock.image}-{target.environment_identity[:20]}.lock"
    with file_lock(guard, waiting=lambda: progress(f"waiting for another build of {target.lock.label}")):
        image = engine.find(client, target.tag, target.identity) if use_cache else None
        if image is None:  # no other process has built it meanwhile
            engine.sweep(client)
            with temporary_folder("building") as folder:
                _load(client, target, folder, use_cache=use_cache, progress=progress)
            image = client.images.get(target.tag)
        return image


def _load(client: docker.DockerClient, target: Recipe, folder: Path, *, use_cache: bool, progress: Progress) -> None:
    """Write the layers that the engine lacks into a folder, and load them as an environment and the image on it."""
    images, files = [], {}
    environment = engine.find(client, target.environment_tag, target.environment_identity) if use_cache else None
    if environment is not None:
        below, layers, size_bytes = target.environment_tag, engine.layers(environment), engine.size_bytes(environment)
    else:
        installed = _install(client, target, folder / "environment.tar", progress)
        files[installed.diff_id] = folder / "environment.tar"
        ground = client.images.get(target.base.reference)
        below, layers = target.base.reference, (*engine.layers(ground), installed.diff_id)
        size_bytes = engine.size_bytes(ground) + installed.size_bytes
        images.append(target.environment(layers, size_bytes))
    with (folder / "worker.tar").open("wb") as stream:
        contents = worker_code.files(target.lock.image)
        worker = layer.of_files(
            {f"opt/levelfield/worker/{name}": content for name, content in contents.items()}, stream
        )
    files[worker.diff_id] = folder / "worker.tar"
    images.append(target.image((*layers, worker.diff_id), size_bytes + worker.size_bytes))
    progress(f"loading the image of {target.lock.label}")
    loading.load(client, images, files, below)


def _install(client: docker.DockerClient, target: Recipe, tar: Path, progress: Progress) -> layer.Layer:
    """Install the wheels in a container of the base, and write what was installed as a layer."""
    engine.check_machine(client)
    files = wheels.fetch(target.lock, progress=progress)
    base.ensure(client, target.base, progress=progress)
    progress(f"installing {len(files)} wheels of {target.lock.label}, no network")
    inputs = [
        ("inputs/environment.sh", images_root() / ENVIRONMENT),
        ("inputs/requirements.lock", target.lock.path),
        *((f"inputs/wheels/{file.name}", file) for file in files),
    ]
    command = ["/bin/sh", "/mnt/inputs/environment.sh"]
    with (
        engine.container_of(client, target.base.reference, inputs, command=command) as container,
        tar.open("wb") as out,
    ):
        return engine.layer_of(container, _INSTALLED, _INSTALLED.lstrip("/"), out)
