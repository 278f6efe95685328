"""`levelfield images`: build them, lock what they hold, and move them to other machines."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from levelfield import terminals
from levelfield.cli import completion
from levelfield.errors import LevelfieldError, printable
from levelfield.options.registry import BASE, GPU, JSON, VARIANT
from levelfield.report.units import plural
from levelfield.version import __version__

if TYPE_CHECKING:
    from levelfield.images.base import CheckedBase, Source
    from levelfield.images.lock_check import Checked, Outdated

OUTDATED, NO_ANSWER = 1, 2
"""Exit codes of `--check`: something is outdated or withdrawn; the package index gave no answer."""
MOST_NAMED = 20
"""Files of a bundle that are named where they are left out."""
_NAMES = click.argument("images", nargs=-1, shell_complete=completion.images)


@click.group(name="images")
def images_() -> None:
    """Build, lock, push, bundle, load or clean container images."""


@images_.command()
@_NAMES
@BASE.but(hidden=False)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Pull the images of this file by digest instead, as `levelfield images push` wrote it; default: all of them.",
)
@VARIANT.but(in_file=False, default="cpu", help="cpu, cu12 or cu13; auto: the one that fits this machine's GPU.")
@GPU.but(in_file=False)
def build(images: tuple[str, ...], base: "Source", source: Path | None, variant: str, gpu: str | None) -> None:
    """Build IMAGES; default: all that the backends need."""
    from levelfield import plan
    from levelfield.images import published
    from levelfield.images.build import build as build_image
    from levelfield.images.published import pull
    from levelfield.record.references import parse
    from levelfield.report.progress import steps

    console = terminals.console()
    progress = steps(console)
    names = _fitting(images, variant, gpu, console)
    if source is not None:
        found = pull(published.read(source), map(parse, names), base_source=base, progress=progress)
        names = tuple(map(str, found))
    for name in names or plan.all_images():
        image = parse(name)
        built = build_image(image.name, image.variant, image.version, base_source=base, progress=progress)
        console.print(f"{name}: {built.tag}", highlight=False)


def _fitting(names: tuple[str, ...], variant: str, gpu: str | None, console: Console) -> tuple[str, ...]:
    """Return the names of the images with the requested CUDA variant, or the one that fits; for the CPU unchanged."""
    from levelfield import plan
    from levelfield.machine.gpu import index_of, nvidia
    from levelfield.plan import placement

    if variant == "cpu":
        if gpu is not None:
            raise LevelfieldError(
                "--gpu chooses among CUDA variants, and the CPU's are built.", fix="Add --variant auto."
            )
        return names
    request = placement.DeviceRequest(variant, index_of(gpu) if gpu is not None else None, named=bool(names))
    fitting, notes = placement.as_typed(names or plan.all_images(), request, nvidia())
    for text in notes:
        console.print(f"[yellow]{escape(text)}[/]", highlight=False)
    return fitting


@images_.command()
@_NAMES
@click.option(
    "--index", "indexes", metavar="URL", multiple=True, help="Look here for wheels, too, and not on public indexes."
)
@click.option(
    "--find-links", metavar="PLACE", multiple=True, help="The same for a folder of wheels, or a page of links to some."
)
@click.option("--check", is_flag=True, help="Change nothing: list what is outdated or withdrawn in the locks.")
@JSON
def lock(
    images: tuple[str, ...], *, indexes: tuple[str, ...], find_links: tuple[str, ...], check: bool, as_json: bool
) -> None:
    """Resolve the requirements of IMAGES again, and lock them.

    Default: everything. `onnxruntime@1.30.0` adds a lock of that version beside the current one, and
    `torch@2.14.1-cuda` one of its CUDA build, to be measured on the CPU. With --check the exit code is 1 if something
    is outdated or withdrawn, and 2 if the package index gave no answer.
    """
    from levelfield.images.locks import relock
    from levelfield.images.registries import Places
    from levelfield.report.progress import steps

    if not check:
        if as_json:
            raise LevelfieldError("--json belongs to --check.", fix="Add --check, or leave it out.")
        relock(images, places=Places(indexes, find_links), progress=steps(terminals.console()))
        return
    if indexes or find_links:
        raise LevelfieldError("--check asks your own indexes.", fix="Leave out --index and --find-links.")
    sys.exit(_check(images, as_json=as_json))


@images_.command()
@click.argument("registry")
@_NAMES
@BASE.but(hidden=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("images.json"),
    help="File of digests to write, for `levelfield images build --from`.",
)
@click.option(
    "--i-may-redistribute",
    "may_redistribute",
    is_flag=True,
    help="Also push images with CUDA, TensorRT or MKL, whose licences restrict that.",
)
@JSON
def push(
    registry: str, images: tuple[str, ...], base: "Source", output: Path, *, may_redistribute: bool, as_json: bool
) -> None:
    """Push built IMAGES to a container registry, by digest.

    REGISTRY is a host and a folder, such as localhost:5000/levelfield; the engine logs in as `docker login` left it.
    Default: all that the backends need.
    """
    from levelfield import plan
    from levelfield.images import published
    from levelfield.images.published import push as push_images
    from levelfield.record.references import parse

    console = terminals.console(stderr=as_json)
    pushed = push_images(
        [parse(name) for name in images or plan.all_images()],
        registry,
        base_source=base,
        may_redistribute=may_redistribute,
        progress=lambda text: terminals.say(console, text, "dim"),
    )
    published.write(pushed, output)
    for each in pushed:
        terminals.say(console, f"{each.name}: {each.reference}")
    terminals.say(
        console, f"Written: {output}. Elsewhere, `levelfield images build --from {output.name}` takes these images."
    )
    if as_json:
        from levelfield.cli.json import Pushed, print_json

        print_json(Pushed(1, str(output), pushed))


@images_.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_NAMES
def bundle(file: Path, images: tuple[str, ...]) -> None:
    """Pack all files for building IMAGES, for a machine without a network.

    They are written to FILE, with those of the canary and the exporter, which
    runs need too. Default: all images for the CPU.
    """
    from levelfield import plan
    from levelfield.images.bundle import pack
    from levelfield.record.references import parse
    from levelfield.report.progress import steps

    console = terminals.console()
    names = dict.fromkeys((*images, plan.CANARY, plan.EXPORTER)) if images else plan.all_images()
    made = pack([parse(name) for name in names], file, progress=steps(console))
    size = sum(each.size_bytes for each in made.files)
    terminals.say(console, f"{plural(len(made.files), 'file')}, {size / 1e9:.2f} GB, in {file}.")
    terminals.say(console, "On the other machine run `levelfield images load` with this file, with the same version.")


@images_.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def load(file: Path) -> None:
    """Add the files of a bundle that locks name to the cache, each checked against its hash."""
    from levelfield.images.bundle import unpack

    console = terminals.console()
    found = unpack(file)
    if found.left_out:
        names = f"{', '.join(found.left_out[:MOST_NAMED])}{' …' if len(found.left_out) > MOST_NAMED else ''}"
        said = f"{plural(len(found.left_out), 'file')} left out, which no lock of this checkout names: {names}."
        if not found.files:
            raise LevelfieldError(said, fix="Make the bundle with a checkout of this version.")
        terminals.say(console, said, "yellow")
    terminals.say(console, f"{plural(found.files, 'file')} in the cache; there before: {found.already_cached}.")
    if found.tool_version != __version__:
        terminals.say(console, f"Levelfield {printable(found.tool_version)} made it: other files may be needed here.")


@images_.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def clean(*, yes: bool) -> None:
    """Delete images and caches; reports are kept.

    Images, environments, wheels and artifacts are made again when they are needed.
    """
    from levelfield.images.engine import clean as delete
    from levelfield.paths import folders_to_clean

    console = terminals.console()
    ours, others = folders_to_clean()
    console.print("This deletes all images of Levelfield in the container engine, and from its cache:", highlight=False)
    for folder in ours:
        terminals.say(console, f"  {folder}")
    for folder in others:
        terminals.say(console, f"  not {folder}: Levelfield did not make it")
    if not yes:
        click.confirm("Delete them?", abort=True)
    delete()
    console.print("Deleted; reports are kept.", highlight=False)


def _check(names: Sequence[str], *, as_json: bool) -> int:
    from levelfield.images import base, lock_check
    from levelfield.record.references import parse

    progress = terminals.console(stderr=True)

    def say(text: str) -> None:
        terminals.say(progress, text, "dim")

    found = lock_check.check((parse(name) for name in names), progress=say)
    bases = () if names else base.check(progress=say)
    code = _exit_code(found)
    console = terminals.console(stderr=as_json)
    _show(found, console)
    for checked in bases:
        _show_base(checked, console)
    if as_json:
        from levelfield.cli.json import CheckedLocks, print_json

        print_json(CheckedLocks(1, code, found, bases))
    return code


def _exit_code(found: "Sequence[Checked]") -> int:
    if any(each.outdated or each.withdrawn for each in found):
        return OUTDATED
    return NO_ANSWER if any(each.problem for each in found) else 0


def _show(found: "Sequence[Checked]", console: Console) -> None:
    for each in found:
        lines = [(" ".join(each.problem.split()), "yellow")] if each.problem else []
        lines += [(f"{one.name} {one.locked}: {one.reason}", "red") for one in each.withdrawn]
        lines += [(sentence, "yellow") for sentence in each.wrong]
        lines += [(_outdated(one), "") for one in each.outdated or ()]
        if lines:
            terminals.say(console, f"{each.image} {each.lock}, Python {each.python}", "bold")
        for text, style in lines:
            terminals.say(console, f"  {text}", style or None)
    outdated = sum(len(each.outdated or ()) for each in found)
    withdrawn = sum(len(each.withdrawn) for each in found)
    terminals.say(
        console, f"{plural(len(found), 'lock')}: {plural(outdated, 'outdated distribution')}, {withdrawn} withdrawn."
    )


def _show_base(base: "CheckedBase", console: Console) -> None:
    terminals.say(
        console, f"Debian {base.release} {base.architecture}, locked {plural(base.age_days, 'day')} ago", "bold"
    )
    for names, said in (
        (base.archived, "no longer at mirrors, and fetched from Debian's archive of all files"),
        (base.unknown, "not known, since a mirror does not answer"),
    ):
        if names:
            terminals.say(console, f"  {plural(len(names), 'package')} {said}: {', '.join(names)}", "yellow")
    if not (base.archived or base.unknown):
        terminals.say(console, "  all packages are at mirrors")


def _outdated(one: "Outdated") -> str:
    where = f" (images/{one.pinned_in} asks for {one.locked})" if one.pinned_in else ""
    return f"{one.name} {one.locked} → {one.newest}{where}"
