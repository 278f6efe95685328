"""What each tool needs on disk beside the framework: installed files, as the locks and their wheels have them."""

import importlib.metadata
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import Parser
from pathlib import Path

import docker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from studies.peers.answers import OPTIMUM_BENCHMARK, PYPERF
from studies.peers.record import Disk
from suite.images import architectures, catalogue, wheels
from suite.images.recipe import recipe
from suite.paths import images_root, package_root

ENVIRONMENT = {
    "python_version": catalogue.PYTHON,
    "python_full_version": f"{catalogue.PYTHON}.0",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": architectures.X86_64.name,
    "os_name": "posix",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "extra": "",
}
"""Of what runs in the images, as environment markers name it."""


def measure(client: docker.DockerClient) -> tuple[Disk, ...]:
    """Return what every tool needs; `torch.utils.benchmark` and `benchmark_app` come with their frameworks."""
    return (
        Disk("torch.utils.benchmark", "part of torch", 0),
        Disk("benchmark_app", "part of openvino", 0),
        beside(PYPERF, "pyperf", "onnxruntime"),
        beside(OPTIMUM_BENCHMARK, "optimum-benchmark", "torch"),
        *_levelfield(client),
    )


def beside(image: str, tool: str, framework: str) -> Disk:
    """Return what the wheels of a tool take that its framework does not need itself."""
    lock = catalogue.lock(image)
    known = _requirements(lock)
    needed = closure(known, [tool]) - closure(known, [framework])
    return Disk(
        tool,
        "its wheels and what they need",
        sum(pin.installed_bytes for pin in lock.pins if pin.name in needed),
        len(needed),
    )


def closure(known: Mapping[str, Iterable[str]], roots: Iterable[str]) -> set[str]:
    """Return distributions and all that they need.

    Examples
    --------
    >>> sorted(closure({"a": ["b"], "b": [], "c": []}, ["a"]))
    ['a', 'b']
    """
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name in known and name not in found:
            found.add(name)
            todo += known[name]
    return found


def _requirements(lock: catalogue.Lock) -> dict[str, list[str]]:
    """Return what each wheel of a lock says that it needs; extras are left out."""
    files = wheels.fetch(lock)
    return {pin.name: needs(_metadata(file)) for pin, file in zip(lock.pins, files, strict=True)}


def _metadata(file: Path) -> list[str]:
    with zipfile.ZipFile(file) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode("utf-8", "replace")
    return Parser().parsestr(text, headersonly=True).get_all("Requires-Dist", [])


def needs(lines: Iterable[str]) -> list[str]:
    """Return the names that lines of `Requires-Dist` ask for in the images, without extras."""
    required = [Requirement(line) for line in lines]
    return [
        canonicalize_name(each.name) for each in required if each.marker is None or each.marker.evaluate(ENVIRONMENT)
    ]


def _levelfield(client: docker.DockerClient) -> tuple[Disk, ...]:
    return (
        _command(),
        Disk("Levelfield", "the base of all images: Debian with Python", _base_bytes(client)),
        _of_lock("canary", "the canary's image, beside the base"),
        _of_lock("exporter", "the exporter's image, beside the base: only for what reads ONNX"),
    )


def _of_lock(image: str, what: str) -> Disk:
    lock = catalogue.lock(image)
    return Disk("Levelfield", what, lock.installed_bytes, len(lock.pins))


def _base_bytes(client: docker.DockerClient) -> int:
    return int(client.images.get(recipe("canary").base.reference).attrs["Size"])


def _command() -> Disk:
    """Return what the command's own environment takes: its dependencies as they are installed here, and the package."""
    project = tomllib.loads((images_root().parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = importlib.metadata.distributions()
    known = {str(canonicalize_name(each.name)): needs(each.requires or ()) for each in installed}
    names = closure(known, needs(project["dependencies"]))
    packages = sum(_installed_bytes(name) for name in names)
    own = sum(path.stat().st_size for path in package_root().rglob("*") if path.suffix != ".pyc" and path.is_file())
    return Disk("Levelfield", "the command and what it needs", packages + own, len(names) + 1)


def _installed_bytes(name: str) -> int:
    files = importlib.metadata.distribution(name).files or ()
    return sum(path.stat().st_size for each in files if (path := Path(str(each.locate()))).is_file())
