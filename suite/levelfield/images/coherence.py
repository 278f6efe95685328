"""What no lock may hold: a pre-release, a wheel that is no wheel, parts of several CUDA releases."""

import re
from collections.abc import Iterable

from packaging.version import Version

from levelfield.compatibility import known_bad
from levelfield.compatibility.versions import is_version, minor
from levelfield.images.catalogue import Lock
from levelfield.record.references import is_cuda_build

_FAMILY = re.compile(r"-cu(\d\d)$")
_OF_RELEASE = (
    "nvidia-cuda-",
    "nvidia-nvjitlink",
    "nvidia-nvtx",
    "nvidia-nvvm",
    "cuda-bindings",
)
"""Prefixes of names whose version is that of the CUDA release. cuBLAS, cuFFT and others have their own."""
STUBS = re.compile(r"tensorrt(-cu\d+)?(-libs|-bindings)?|tensorrt-(lean|dispatch).*")
"""Projects whose file on the default index is only a program that fetches the real thing from elsewhere, unhashed."""
EXCEPTIONS = {
    ("torch", "cu12", "cuda-bindings"): (
        "torch 2.10.0 asks for exactly 12.9.4 of these Python bindings; they hold no library of CUDA and call the one "
        "that is there"
    ),
}
"""Image, variant and distribution that may be of another release, and why."""


def faults(lock: Lock) -> tuple[str, ...]:
    """Return what is wrong with a lock, one phrase each; empty: nothing is."""
    found = [f"{pin.name} {pin.version} is a pre-release" for pin in lock.pins if Version(pin.version).is_prerelease]
    found += [f"{pin.name} {pin.version} is no wheel" for pin in lock.pins if not pin.file.endswith(".whl")]
    found += [
        f"{pin.name} only fetches the real thing from elsewhere, so that its hash pins nothing"
        for pin in lock.pins
        if STUBS.fullmatch(pin.name) and pin.file.endswith("-any.whl")  # the real ones are of one platform
    ]
    return (*found, *_mixed(lock))


def _mixed(lock: Lock) -> Iterable[str]:
    release = known_bad.cuda_release(lock.versions)
    if not lock.variant.startswith("cu"):
        named = is_cuda_build(lock.variant, lock.version)
        if release is not None and not named:
            yield f"a lock for the CPU holds CUDA {release}"
        if release is None and named:
            yield "its name is that of a CUDA build, and it holds no CUDA"
        return
    if "cuda-toolkit" not in lock.versions or release is None:
        yield "it does not say its CUDA release (cuda-toolkit is not in it)"
        return
    family = lock.variant.removeprefix("cu")
    if str(minor(release)[0]) != family:
        yield f"a lock of {lock.variant} holds CUDA {release}"
    for pin in lock.pins:
        if (lock.image, lock.variant, pin.name) in EXCEPTIONS:
            continue
        other = _FAMILY.search(pin.name)
        if other and other[1] != family:
            yield f"{pin.name} is for CUDA {other[1]} and the lock of {lock.variant}"
        elif pin.name.startswith(_OF_RELEASE) and is_version(pin.version) and minor(pin.version) != minor(release):
            yield f"{pin.name} {pin.version} is not of CUDA {release}"
