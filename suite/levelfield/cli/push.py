"""`levelfield push`: built images to a container registry, and a file of digests for `levelfield build --from`."""

from pathlib import Path
from typing import Literal

import click

from levelfield.cli import completion
from levelfield.cli.answers.printing import JSON, print_json
from levelfield.cli.options import BASE
from levelfield.safety import terminals


@click.command()
@click.argument("registry")
@click.argument("images", nargs=-1, shell_complete=completion.images)
@BASE
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("images.json"),
    help="File of digests to write, for `levelfield build --from`.",
)
@click.option(
    "--i-may-redistribute",
    "may_redistribute",
    is_flag=True,
    help="Also push images with CUDA, TensorRT or MKL, whose licences restrict that.",
)
@JSON
def push(
    registry: str,
    images: tuple[str, ...],
    base: Literal["debian", "registry"],
    output: Path,
    *,
    may_redistribute: bool,
    as_json: bool,
) -> None:
    """Push built IMAGES to a container registry, by digest.

    REGISTRY is a host and a folder, such as localhost:5000/levelfield; the engine logs in as `docker login` left it.
    Default: all that the backends need.
    """
    from levelfield import plan
    from levelfield.cli.answers.pushed import Pushed
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
    terminals.say(console, f"Written: {output}. Elsewhere, `levelfield build --from {output.name}` takes these images.")
    if as_json:
        print_json(Pushed(1, str(output), pushed))
