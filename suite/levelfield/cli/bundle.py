"""`levelfield bundle FILE` on a machine with a network; `levelfield unbundle FILE` on one without."""

from pathlib import Path

import click

from levelfield.cli import completion
from levelfield.safety import terminals


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("images", nargs=-1, shell_complete=completion.images)
@click.option("--artifacts", is_flag=True, help="Include exported ONNX models that are in the cache.")
def bundle(file: Path, images: tuple[str, ...], *, artifacts: bool) -> None:
    """Pack all files for building IMAGES, for a machine without a network.

    They are written to FILE. Default: all images for the CPU.
    """
    from levelfield import plan
    from levelfield.images.bundle import pack
    from levelfield.record.references import parse
    from levelfield.report.progress import steps

    console = terminals.console()
    made = pack(
        [parse(name) for name in images or plan.all_images()], file, artifacts=artifacts, progress=steps(console)
    )
    size = sum(each.size_bytes for each in made.files)
    terminals.say(console, f"{len(made.files)} files, {size / 1e9:.2f} GB, in {file}.")
    terminals.say(
        console, "On the other machine, in a checkout of the same version, run `levelfield unbundle` with this file."
    )


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--models",
    is_flag=True,
    help="Also take exported ONNX models. No lock has their hashes: only for a bundle you trust.",
)
def unbundle(file: Path, *, models: bool) -> None:
    """Add the files of a bundle to the cache, each checked against its hash."""
    from levelfield.images.bundle import unpack
    from levelfield.images.wheels import wheel_folder

    console = terminals.console()
    found = unpack(file, models=models)
    terminals.say(console, f"{found.files} files are in the cache; {found.already_cached} of them were there before.")
    if found.models_left_out:
        terminals.say(
            console,
            f"{found.models_left_out} files of exported models were left out: add --models if you trust the maker of "
            "the bundle. Otherwise they are exported again here.",
        )
    for name in found.other_locks:
        terminals.say(
            console, f"The bundle was made for another images/{name} than this checkout's: other files may be needed."
        )
    terminals.say(
        console, f"To install the tool itself from these files, set PIP_NO_INDEX=1 PIP_FIND_LINKS={wheel_folder()}"
    )
