"""Records that are reproduced, and what one may ask for."""

from typing import Any

import msgspec

from levelfield.images import catalogue
from levelfield.plan import CANARY
from levelfield.record.schema import Image, Launch, Run
from tests.records_builder import make_run, with_launches


def record(name: str, seed: int = 1, **options: Any) -> Run:
    chosen: dict[str, Any] = {
        "models": ["mlp"],
        "backends": ["jax", "onnxruntime", "openvino"],
        "rounds": 3,
        "max_calls": 50,
    } | options
    return msgspec.structs.replace(make_run(seed=seed, **chosen), id=name)


def known(run: Run) -> Run:
    """Let a synthetic record name the locks of this checkout."""
    images = tuple(
        msgspec.structs.replace(
            image, lock_sha256=catalogue.lock(image.name).sha256, distributions=catalogue.lock(image.name).versions
        )
        for image in (*run.images, Image(name=CANARY, variant="cpu", launcher="docker"))
        if image.name in catalogue.images()
    )
    held = {image.name: image.distributions for image in images}

    def launched(launch: Launch) -> Launch:
        (version, *_) = held.get(launch.arm.partition("#")[0], held[CANARY]).values()
        return msgspec.structs.replace(launch, framework_version=version)

    return with_launches(msgspec.structs.replace(run, images=images), launched)


def asks(run: Run, **settings: Any) -> Run:
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, **settings))


def injected(run: Run, amount: str) -> Run:
    block = run.blocks[0]
    slowed = msgspec.structs.replace(block.arms[0], inject=amount)
    return msgspec.structs.replace(
        run, blocks=(msgspec.structs.replace(block, arms=(slowed, *block.arms[1:])), *run.blocks[1:])
    )
