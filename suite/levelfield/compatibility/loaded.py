"""Whether the CUDA libraries that a worker loaded are those of its lock."""

import re
from collections.abc import Iterator

from levelfield.compatibility import known_bad
from levelfield.record.schema import Image, Launch, Library

_KINDS = {"CUDA", "cuDNN", "cuBLAS", "NCCL"}
_OF_THE_DRIVER = re.compile(r"lib(cuda|nvidia-[a-z-]+|cudadebugger)\.so")
"""Libraries that come with the driver: no wheel has them."""
_VERSION = re.compile(r"\((?P<library>cuDNN|cuBLAS|NCCL|CUDA runtime) (?P<version>[\d.]+)\)")


def not_of_the_lock(launch: Launch, image: Image) -> Iterator[str]:
    """Say of each loaded CUDA library that is not the locked one what it is; nothing where nothing was locked."""
    if image.launcher == "host":
        return
    locked = known_bad.libraries(image.distributions)
    for library in launch.libraries:
        if library.kind not in _KINDS or _OF_THE_DRIVER.match(library.name):
            continue
        if "/" not in library.path:  # a path from the installed packages on has one; a file of the system is its name
            yield f"{library.name} was loaded from the system, and not from the locked wheels"
        elif (other := _another(library, locked)) is not None:
            yield other


def _another(library: Library, locked: dict[str, str]) -> str | None:
    found = _VERSION.search(library.name)
    if found is None or found["library"] not in locked:
        return None
    expected = locked[found["library"]]
    if f"{expected}.".startswith(f"{found['version']}."):
        return None
    return f"{found['library']} {found['version']} was loaded ({library.path}), and {expected} is locked"
