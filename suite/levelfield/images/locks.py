"""Resolve requirement sets again and write their locks: `nox -s lock`."""

import re
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from levelfield.backends.info import ONNX
from levelfield.compatibility import libraries
from levelfield.compatibility.gate import is_version, minor
from levelfield.errors import LevelfieldError
from levelfield.images import base, catalogue, debian, registries, version_locks, wheels
from levelfield.images.catalogue import PYTHON, Lock, Pin
from levelfield.images.registries import Places
from levelfield.images.wheels import Progress, silent
from levelfield.paths import images_root
from levelfield.record.references import is_cuda_build, parse, split_python

_FAMILY = re.compile(r"-cu(\d\d)$")
_OF_RELEASE = ("nvidia-cuda-", "nvidia-nvjitlink", "nvidia-nvtx", "nvidia-nvvm", "cuda-bindings")
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


def incoherences(lock: Lock) -> tuple[str, ...]:
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
    release = libraries.cuda_release(lock.versions)
    if not lock.variant.startswith("cu"):
        named = is_cuda_build(lock.variant, lock.version)
        if release is not None and not named and lock.image != ONNX.image:  # which writes files, and is not measured
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


def relock(names: Iterable[str] = (), *, places: Places = registries.NOWHERE_ELSE, progress: Progress = silent) -> None:
    """Resolve again: the named images, or everything (all locks of all images, the base, the tool itself).

    `names`: `onnxruntime` means all locks of that image, `onnxruntime@1.30.0` for one, which is made if it does not
    exist. Empty: everything but the images of plug-ins. Raises LevelfieldError: a name is unknown, or a requirement
    cannot be resolved or fetched.
    """
    chosen = tuple(parse(name) for name in names)
    own = (name for name, image in catalogue.images().items() if image.plugin is None)
    for requested in chosen or tuple(map(parse, own)):
        catalogue.image(requested.name)
        plain = requested.version is None and requested.variant == "cpu"
        named = (requested.variant, requested.version)
        for variant, version in _all_locks(requested.name) if plain else (named,):
            progress(f"resolving {requested.name} {catalogue.stem(variant, version)}")
            try:
                lock_image(requested.name, variant, version, places)
            except LevelfieldError as error:
                if chosen or (variant, version) in catalogue.lock_names(requested.name):
                    raise
                # Never locked here: its index may be private. Asked for by name, it fails with the whole error.
                progress(f"{requested.name} {variant} stays without a lock. {error.fix}")
                continue
    if not chosen:
        for release in dict.fromkeys(debian.BASES.values()):
            progress(f"resolving the bases of Debian {release}")
            debian.lock_bases(release)
        if (images_root().parent / "pyproject.toml").is_file():
            progress("resolving the tool's own environment")
            lock_tool()


def _all_locks(image_name: str) -> tuple[tuple[str, str | None], ...]:
    """Return every lock that an image has or should have."""
    unlocked: tuple[tuple[str, str | None], ...] = tuple((variant, None) for variant in catalogue.unlocked(image_name))
    return (*catalogue.lock_names(image_name), *unlocked)


def lock_image(
    image_name: str, variant: str = "cpu", version: str | None = None, places: Places = registries.NOWHERE_ELSE
) -> catalogue.Lock:
    """Resolve the requirements of an image and write its lock.

    Every wheel is fetched (into the cache) to learn its size: a lock whose wheels cannot be fetched is worth nothing.
    Those of CUDA are not, being gigabytes: their hashes are the index's, checked when an image is made.

    Raises LevelfieldError: there is no such image or variant, or no base with its Python; it cannot be resolved or
    fetched; or it would hold what no lock may (see `images.locks`): then the old one stays.
    """
    image = catalogue.image(image_name)
    stem = catalogue.stem(variant, version)
    own = image.folder / f"{stem}.in"
    source = own if own.is_file() else catalogue.source(image_name, variant)
    python = catalogue.python_for(image_name, variant, version)
    base.name_for(image_name, python)  # a lock that no image could be made of is worth nothing
    serving = _serving(variant, source, version) if places == registries.NOWHERE_ELSE else []
    arguments = _arguments(registries.settings(places), python, serving, split_python(version)[0] or "")
    # What workers need beside a plug-in's requirements; built-in ones name it.
    lines = list(catalogue.of_workers(image_name, variant)) if image.plugin is not None else []
    sources = [source]
    if version is not None and source != own:
        lines += version_locks.resolve(image_name, variant, version, arguments).splitlines()
        sources = []
    try:
        text = _compile(
            [*sources],
            ["--generate-hashes", "--format", "pylock.toml", *arguments],
            f"{source.name} of {image_name}",
            lines,
        )
    except LevelfieldError as error:
        if not serving:
            raise
        raise LevelfieldError(
            error.message,
            fix=f"Its wheels are on the index {urlsplit(serving[0].url).netloc}: lock it where that one answers, or "
            f"name another (--index URL, --find-links PLACE). {registries.WITHOUT}",
        ) from error
    packages = tomllib.loads(text)["packages"]
    unsized = tuple(_pin(package, python) for package in packages)
    image.locks.mkdir(parents=True, exist_ok=True)
    path = image.locks / f"{stem}.lock"
    draft = catalogue.Lock(
        image=image_name, variant=variant, version=version, path=path, sha256="", pins=unsized, python=python
    )
    faults = incoherences(draft)
    if faults:
        raise LevelfieldError(
            f"{draft.label} cannot be locked like this: {'; '.join(faults)}.",
            fix=f"Pin it in {source.name}, or in the constraints beside it.",
        )
    if libraries.cuda_release(draft.versions) is None:
        files = wheels.fetch(draft, places=places)
        pins = tuple(_sized(pin, file) for pin, file in zip(unsized, files, strict=True))
    else:
        cached = {pin.file for pin in unsized} - {pin.file for pin in wheels.missing(draft)}
        pins = tuple(
            _sized(pin, wheels.check(wheels.wheel_folder() / pin.file, pin.sha256)) if pin.file in cached else pin
            for pin in unsized
        )
    catalogue.write(path, pins, python)
    return catalogue.read(path)


def resolver_arguments(variant: str, source: Path, found: registries.Settings, python: str) -> list[str]:
    """Return uv's arguments: which Python on which machine, and where to look."""
    return _arguments(found, python, _serving(variant, source))


def _arguments(
    found: registries.Settings, python: str, serving: Iterable[registries.Index], version: str = ""
) -> list[str]:
    arguments = [*version_locks.target(python), *registries.uv_arguments(found)]
    for index in serving:
        if not _local(found, index, version):
            arguments += ["--index", index.url]
    return arguments


def lock_tool() -> None:
    """Resolve the tool's own environments: what it needs to run, to be developed, to build its docs, and nox alone."""
    folder = images_root() / "tool"
    shared = ["--generate-hashes", "--universal", "--python-version", PYTHON]
    shared += registries.uv_arguments(registries.settings(), only_default=True)
    own = [images_root().parent / "pyproject.toml", folder / "build.in"]
    first = folder / "dev.lock"
    for lock, sources in {
        first: [*own, folder / "dev.in", folder / "nox.in"],
        folder / "runtime.lock": own,
        folder / "docs.lock": [*own, folder / "docs.in"],
        folder / "nox.lock": [folder / "nox.in"],
    }.items():  # the same versions in all of them
        constraint = [] if lock == first else ["--constraint", str(first)]
        lock.write_text(_compile(sources, [*shared, *constraint], f"The tool's {lock.name}"), encoding="utf-8")


def _serving(variant: str, source: Path, version: str | None = None) -> list[registries.Index]:
    """Return the public indexes that serve something of a file of requirements; those of CPU builds no CUDA build."""
    text = source.read_text(encoding="utf-8")
    if is_cuda_build(variant, version) or (source.parent.name == ONNX.image and "+cpu" not in text):
        return []
    return [index for index in registries.indexes(variant) if any(project in text for project in index.serves)]


def _local(found: registries.Settings, index: registries.Index, version: str) -> bool:
    """Return whether the user has wheels of their own for what an index serves, of a version if one is named."""
    names = [project.replace("-", "_") for project in index.serves]
    return any(
        "://" in location or any(any(Path(location).glob(f"{name}*-{version}*.whl")) for name in names)
        for location in found.find_links
    )


def _compile(sources: list[Path], arguments: list[str], what: str, lines: Iterable[str] = ()) -> str:
    output = "pylock.toml" if "pylock.toml" in arguments else "requirements.txt"
    found = version_locks.compiled(["--quiet", "--upgrade", *arguments], sources, lines=lines, output=output)
    if found.problem:
        raise LevelfieldError(
            f"{what} cannot be resolved: {found.problem}",
            fix="Loosen the requirement, or check that your package index has it.",
        )
    return found.text


def _pin(package: dict[str, Any], python: str) -> Pin:
    found = {}
    for wheel in package.get("wheels", []):
        address = wheel.get("name") or wheel.get("url") or wheel["path"]
        found[address.rsplit("/", 1)[-1].replace("%2B", "+")] = wheel["hashes"]["sha256"]
    if not found:
        machine = catalogue.current_architecture().name
        raise LevelfieldError(
            f"{package['name']} {package['version']} has no wheel for Python {python} on Linux {machine}.",
            fix="Ask for a version that has one.",
        )
    file = min(found, key=lambda name: (_rank(name, python), -_build_number(name), name))
    return Pin(package["name"], package["version"], file, found[file], size_bytes=0, installed_bytes=0, sized=False)


def _build_number(file: str) -> int:
    """Return the build number of a wheel: of several builds of a release (`torch-2.10.0-3-cp311-…`) the last counts."""
    _, _, build, _ = parse_wheel_filename(file)
    return build[0] if build else 0


def _rank(file: str, python: str) -> int:
    """Where a release has several wheels that fit: the most specific one comes first, as pip would choose."""
    own = f"cp{python.replace('.', '')}"
    preference = (f"-{own}-{own}-", "-abi3-", "-none-")
    return next((rank for rank, tag in enumerate(preference) if tag in file), len(preference))


def _sized(pin: Pin, file: Path) -> Pin:
    with zipfile.ZipFile(file) as archive:
        installed = sum(entry.file_size for entry in archive.infolist())
    return msgspec.structs.replace(pin, size_bytes=file.stat().st_size, installed_bytes=installed, sized=True)
