"""The identity of an image: the hash of everything it is made from."""

import hashlib
import tomllib
from collections.abc import Sequence
from typing import Any

import msgspec

from levelfield.images import base, catalogue, engine, loading, worker_code
from levelfield.images.layer import EPOCH
from levelfield.paths import images_root

ENVIRONMENT = "environment.sh"
_WORKER = "worker.toml"


class Recipe(msgspec.Struct, frozen=True):
    """What an image will be made from, and the names that follow from it."""

    lock: catalogue.Lock
    base: base.Base
    recipe_sha256: str
    worker_sha256: str

    @property
    def environment_identity(self) -> str:
        return _digest(self.base.kind, self.base.identity, self.lock.sha256, _file_sha256(ENVIRONMENT), str(EPOCH))

    @property
    def environment_tag(self) -> str:
        return f"levelfield/{self.lock.image}-env:{self.environment_identity[:20]}"

    @property
    def identity(self) -> str:
        return _digest(self.environment_identity, _file_sha256(_WORKER), self.worker_sha256)

    @property
    def tag(self) -> str:
        return f"levelfield/{self.lock.image}:{self.identity[:20]}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the final image."""
        return {
            "levelfield.image": self.lock.image,
            "levelfield.variant": catalogue.stem(self.lock.variant, self.lock.version),
            "levelfield.identity": self.identity,
            "levelfield.lock": self.lock.sha256,
            "levelfield.base": self.base.label,
            "levelfield.recipe": self.recipe_sha256,
            "levelfield.worker": self.worker_sha256,
        }

    def environment(self, layers: Sequence[str], size_bytes: int) -> loading.Image:
        """Return the image of the environment, by the digests and the size of its layers."""
        labels = {
            "levelfield.image": f"{self.lock.image}-env",
            engine.IDENTITY: self.environment_identity,
            engine.SIZE: str(size_bytes),
        }
        config = {"Cmd": ["/bin/sh"], "Labels": labels}
        return loading.image(self.environment_tag, layers, architecture=self.lock.architecture.debian, config=config)

    def image(self, layers: Sequence[str], size_bytes: int) -> loading.Image:
        """Return the image that runs, by the digests and the size of its layers."""
        started = tomllib.loads((images_root() / _WORKER).read_text(encoding="utf-8"))
        config: dict[str, Any] = {
            "Entrypoint": started["command"],
            "Env": [f"{name}={value}" for name, value in started["environment"].items()],
            "Labels": {**self.labels, engine.SIZE: str(size_bytes)},
            "User": started["user"],
            "WorkingDir": started["working_folder"],
        }
        return loading.image(self.tag, layers, architecture=self.lock.architecture.debian, config=config)


def recipe(name: str, variant: str = "cpu", version: str | None = None, base_source: base.Source = "debian") -> Recipe:
    """Return what an image is made from; nothing is made or fetched.

    Raises LevelfieldError: there is no such image or lock, or no base with the lock's Python.
    """
    lock = catalogue.lock(name, variant, version)
    return Recipe(
        lock=lock,
        base=base.describe(base.name_for(name, lock.python), base_source),
        recipe_sha256=_digest(_file_sha256(ENVIRONMENT), _file_sha256(_WORKER)),
        worker_sha256=worker_code.digest(worker_code.files(name)),
    )


def _file_sha256(name: str) -> str:
    return hashlib.sha256((images_root() / name).read_bytes()).hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
