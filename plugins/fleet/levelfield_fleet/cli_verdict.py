"""A verdict on nodes, printed and written to files."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from levelfield.safety import terminals

if TYPE_CHECKING:
    from levelfield_fleet.types import Fleet


def show(found: "Fleet", folder: Path, format_: str | None, targets: Iterable[tuple[Path, str]]) -> None:
    """Print a verdict, write it to files, and exit with its code.

    `format_`: format to print; None: for the terminal.
    """
    from levelfield.record.files import write_atomically
    from levelfield_fleet.formats import WRITERS, html, terminal

    targets = list(targets)
    for path, name in targets:
        beside = os.path.relpath(folder, path.parent)
        text = html.write(found, beside) if name == "html" else WRITERS[name](found)
        write_atomically(path, text.encode("utf-8", "replace"))
    if format_ in (None, "terminal") or targets:
        terminal.show(found, terminals.console())
    else:
        terminals.write(WRITERS[format_](found))
    sys.exit(found.exit_code)
