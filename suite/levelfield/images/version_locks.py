"""Locks beside the current one: of another version of the framework, or mixed of two locks.

Of another version, everything else is held as the current lock has it. A mixed lock takes some distributions from one
lock and the rest from another, to find which one makes a difference.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, programs, registries, wheels
from levelfield.images.catalogue import Lock, Pin
from levelfield.paths import temporary_folder
from levelfield.record.references import CUDA_BUILD, is_cuda_build, split_python, suffix, with_python

MAX_LISTED = 3
"""Most distributions that the name of a mixed lock lists; of more it holds only the number."""


def target(python: str) -> tuple[str, ...]:
    """Return arguments of `uv pip compile`: which Python on which machine, and wheels only."""
    machine = f"{catalogue.current_architecture().name}-manylinux_2_{registries.GLIBC_MINOR}"
    return ("--python-version", python, "--python-platform", machine, "--only-binary", ":all:")


def resolve(image_name: str, variant: str, version: str, arguments: list[str]) -> str:
    """Return the requirements of an image at a version of its framework or with another Python, every one pinned.

    What is not the framework stays as the current lock has it, unless the framework or the Python asks for something
    else.

    Raises LevelfieldError: the image has no versions, or there is none of that name, or it cannot be installed.
    """
    required, name = catalogue.requirement(image_name, variant), catalogue.framework(image_name, variant)
    of_framework, python = split_python(version)
    held = catalogue.lock(image_name, variant).pins
    if of_framework is None:  # another Python alone: the same requirements
        found = compiled(["--quiet", *arguments], [catalogue.source(image_name, variant)], held=held)
        if found.problem:
            raise LevelfieldError(
                f"{image_name} cannot be resolved for Python {python}: {found.problem}",
                fix=f"Name a version that has wheels for it: {image_name}@VERSION+python={python}.",
            )
        return found.text
    if required is None or name is None:
        raise LevelfieldError(
            f"The image {image_name} has no versions: it is not made for one framework alone.",
            fix="Change its requirements.in, and lock it again.",
        )
    local = "+" + required.rpartition("+")[2] if "+" in required.partition("==")[2] else ""
    if is_cuda_build(variant, version):
        of_framework, local = of_framework.removesuffix(CUDA_BUILD), ""
    # Of what every worker needs the names alone: the lock that is held has their versions.
    shared = [line.partition("==")[0].strip() for line in catalogue.of_workers(image_name, variant)]
    roots = [*shared, f"{required.partition('==')[0]}=={of_framework}{local}", *catalogue.beside(image_name, variant)]
    roots += _with_cuda(image_name, variant)
    found = compiled(["--quiet", *arguments], lines=roots, held=[pin for pin in held if pin.name != name])
    if found.problem:
        raise _failure(image_name, name, version, found.problem, variant, local)
    return found.text


class Compiled(NamedTuple):
    """What `uv pip compile` came to."""

    text: str
    said: str
    """On stderr: why it failed, and what it warns of."""
    failed: bool

    @property
    def problem(self) -> str:
        """Why it failed, without addresses; empty: it did not."""
        return (registries.without_addresses(self.said.strip()) or "it said nothing") if self.failed else ""


def compiled(
    arguments: Iterable[str],
    sources: Sequence[Path] = (),
    *,
    lines: Iterable[str] = (),
    held: Iterable[Pin] = (),
    output: str = "requirements.txt",
) -> Compiled:
    """Resolve files of requirements and further lines of them, with the user's own index settings.

    What is held is preferred: exactly as much moves as must.
    """
    with temporary_folder("resolving") as folder:
        if further := "".join(f"{line}\n" for line in lines):
            (folder / "requirements.in").write_text(further, encoding="utf-8")
            sources = (*sources, folder / "requirements.in")
        target = folder / output
        if kept := exactly(held):
            target.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        command = [
            *registries.uv_command(),
            "pip",
            "compile",
            "--no-config",
            "--no-header",
            "--no-annotate",
            *arguments,
        ]
        done = programs.run(
            [*command, "--output-file", str(target), *map(str, sources)],
            environment=registries.settings().environment,
            folder=sources[0].parent,
        )
        text = target.read_text(encoding="utf-8") if target.is_file() else ""
    return Compiled(text, done.stderr, bool(done.returncode))


def exactly(pins: Iterable[Pin]) -> list[str]:
    """Return requirements of exactly what is locked."""
    return [f"{pin.name}=={pin.version}" for pin in pins]


def _with_cuda(image_name: str, variant: str) -> list[str]:
    """Return the requirements of a CUDA variant beside its framework: the release, and what pins its parts."""
    source = catalogue.source(image_name, variant)
    lines = catalogue.lines_of(source)
    held = [line for line in lines if line.startswith(catalogue.CUDA_PARTS)]
    return held + [f"-c {(source.parent / line[2:].strip()).resolve()}" for line in lines if line.startswith("-c")]


def _failure(image_name: str, name: str, version: str, problem: str, variant: str, local: str) -> LevelfieldError:
    of_framework = (split_python(version)[0] or "").removesuffix(CUDA_BUILD)
    python = catalogue.python_for(image_name, variant, version)
    if local:
        machine = catalogue.current_architecture().name
        return LevelfieldError(
            f"No CPU build of {name} {of_framework} ({name}=={of_framework}{local}) for Python {python} on Linux "
            f"{machine} was found: {_last(problem)}",
            fix="Name an index that has it (--index URL), or a folder of wheels or a page of links to them "
            "(--find-links PLACE); or lock the CUDA build, to measure it on the CPU under that name: "
            f"levelfield images lock {image_name}"
            f"{suffix(variant, with_python(f'{of_framework}{CUDA_BUILD}', split_python(version)[1]))}.",
        )
    fix = "Choose another version."
    if variant != "cpu":
        fix += f" Where it needs another CUDA release, say which in images/{image_name}/{variant}@{version}.in."
    return LevelfieldError(f"{image_name} cannot be resolved with {name} {of_framework}: {_last(problem)}", fix=fix)


def changed(first: Lock, second: Lock) -> tuple[str, ...]:
    """Return the names of the distributions that differ between two locks (version or file), or are missing."""
    old, new = ({pin.name: (pin.version, pin.sha256) for pin in lock.pins} for lock in (first, second))
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def mix(first: Lock, second: Lock, chosen: Collection[str]) -> Lock:
    """Write the lock that holds `chosen` as the second lock does, and everything else as the first.

    `chosen`: names of distributions. One that only the second lock has is added; one that only the first has is left
    out. Raises LevelfieldError: the locks are of different images or variants, or for different Pythons.
    """
    check_mixable(first, second)
    pins = [pin for pin in first.pins if pin.name not in chosen]
    pins += [pin for pin in second.pins if pin.name in chosen]
    folder = catalogue.mixed_folder(first.image)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{catalogue.stem(first.variant, _name(first, second, chosen))}.lock"
    catalogue.write(path, tuple(pins), first.python)
    return catalogue.read(path)


def check_mixable(first: Lock, second: Lock) -> None:
    """Raise a LevelfieldError where no lock can hold distributions of both.

    Raises LevelfieldError: they are of different images or variants, or for different Pythons.
    """
    if (first.image, first.variant) != (second.image, second.variant):
        raise LevelfieldError(
            f"{first.label} and {second.label} cannot be mixed: they are different images.",
            fix="Name two versions of one image.",
        )
    if first.python != second.python:
        raise LevelfieldError(
            f"{first.label} is for Python {first.python} and {second.label} for Python {second.python}: their "
            "distributions cannot be mixed, since wheels are of one Python.",
            fix="Name two locks for the same Python.",
        )


def _name(first: Lock, second: Lock, chosen: Collection[str]) -> str:
    of_framework, python = split_python(first.version)
    start = of_framework or catalogue.current_version(first.image, first.variant) or "current"
    names = sorted(chosen)
    listed = "~".join(names) if len(names) <= MAX_LISTED else f"{len(names)}-distributions"
    mark = hashlib.sha256("\n".join([first.sha256, second.sha256, *names]).encode()).hexdigest()[:6]
    return with_python(f"{start}~{listed}~{mark}", python) or ""


def conflict(lock: Lock) -> str:
    """Return why the distributions of a lock cannot be installed together, or an empty string.

    Only the wheels' own requirements decide: what a wheel needs must be among the pins.

    Raises LevelfieldError: a wheel is wrong or cannot be fetched.
    """
    wheels.fetch(lock)
    offline = ["--offline", "--no-index", "--find-links", str(wheels.wheel_folder())]
    found = compiled(["--quiet", *target(lock.python), *offline], lines=exactly(lock.pins))
    if found.problem:
        return _last(found.problem)
    needed = {line.partition("==")[0] for line in found.text.splitlines() if "==" in line}
    missing = sorted(needed - lock.versions.keys())
    return f"{', '.join(missing)} would be missing" if missing else ""


def _last(problem: str) -> str:
    """Return what uv concluded, on one line."""
    text = " ".join(problem.split())
    return text.partition("Because ")[2] or text
