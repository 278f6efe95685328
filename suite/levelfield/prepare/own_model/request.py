"""From the options on a user's own file to what is measured."""

import re
from collections import Counter
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import python_file, store
from levelfield.record.schema import OwnFile


def read(path: Path | None, inputs: tuple[tuple[str, str], ...]) -> OwnFile | None:
    """Keep and read the file; None where there is none.

    `inputs`: names of dynamic dimensions with their sizes, and of inputs with files of their values. Raises
    LevelfieldError: it cannot be measured; or something was said of a file, and none was given.
    """
    if path is None:
        if inputs:
            raise LevelfieldError("--input is about an ONNX file of your own.", fix="Add --model FILE.onnx.")
        return None
    sizes = [(name, int(value)) for name, value in inputs if re.fullmatch(r"[0-9]{1,9}", value)]
    values = [(name, Path(value)) for name, value in inputs if not re.fullmatch(r"[0-9]{1,9}", value)]
    for pairs in (sizes, values):
        for twice in (name for name, count in Counter(name for name, _ in pairs).items() if count > 1):
            raise LevelfieldError(f"--input was given twice for {twice}.", fix="Once is enough.")
    return store.read(path, dict(sizes), dict(values))


def keep_recorded(path: Path, recorded: OwnFile | None) -> None:
    """Keep the file that a record names, so that it is found by its digest.

    `recorded`: the record's description of the file; None: the run was of the tool's own models. Raises
    LevelfieldError: it is another file, or the record names none.
    """
    if recorded is None:
        raise LevelfieldError("The report is of this tool's own models, and needs no file.", fix="Leave --model out.")
    if recorded.function:
        raise LevelfieldError(
            f"The report is of a network in Python, {recorded.file}.", fix="Give it with --model FILE.py:FUNCTION."
        )
    found = store.keep(path)
    if (found.sha256, found.beside) != (recorded.sha256, recorded.beside):
        raise LevelfieldError(
            f"{path.name} is not the file that was measured: its SHA-256 is {found.sha256[:16]}…, and the report's "
            f"{recorded.sha256[:16]}….",
            fix=f"Ask its author for {recorded.file}.",
        )


def keep_recorded_module(text: str, recorded: OwnFile | None) -> None:
    """Keep the Python file that a record names, so that it is found by its digest.

    `recorded`: the record's description of the file; None: the run was of the tool's own models. Raises
    LevelfieldError: it is another file or function, or the record names none.
    """
    if recorded is None or not recorded.function:
        raise LevelfieldError("The report is not of a network in Python.", fix="Leave --model out.")
    found = python_file.keep(text)
    if (found.sha256, found.function) != (recorded.sha256, recorded.function):
        raise LevelfieldError(
            f"{found.file}:{found.function} (SHA-256 {found.sha256[:16]}…) is not what was measured: that is "
            f"{recorded.function} of the file {recorded.sha256[:16]}….",
            fix=f"Ask its author for {recorded.file}.",
        )
