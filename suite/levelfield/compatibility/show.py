"""The table of what fits this machine, in the terminal."""

from collections.abc import Mapping

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from levelfield.compatibility.devices import Nvidia
from levelfield.compatibility.gate import check
from levelfield.compatibility.table import Table, newest_patches, requirement
from levelfield.errors import printable


def grid(table: Table, nvidia: Nvidia, variants: Mapping[str, Mapping[str, str]]) -> Grid:
    """Lay out, for each CUDA release, what it needs and whether this machine has it."""
    laid = Grid(
        title="CUDA on this machine", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for heading in ("CUDA", "needs driver", "at least", "here", "images"):
        laid.add_column(heading, overflow="fold")
    users = _users(variants)
    for release in dict.fromkeys((*reversed(newest_patches(table)), *users)):
        needs = requirement(table, release)
        laid.add_row(
            release,
            (needs.driver if needs else None) or "not known",
            needs.family.minimum_driver if needs else "not known",
            _here(table, release, nvidia),
            Text(printable(", ".join(users.get(release, ())))),
        )
    return laid


def _here(table: Table, release: str, nvidia: Nvidia) -> Text:
    found = check(table, release, nvidia)
    if found.runs:
        return Text("with limits", "yellow") if found.warnings else Text("yes", "green")
    some = [str(one.index) for one in nvidia.gpus if check(table, release, nvidia, [one]).runs]
    return Text(f"GPU {', '.join(some)} only", "yellow") if some else Text("no", "red")


def _users(variants: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for image, releases in variants.items():
        for variant, release in releases.items():
            found.setdefault(release, []).append(f"{image} {variant}")
    return found
