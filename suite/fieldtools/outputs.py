"""A recorded output of any of the tools: which one it is, is seen from its content."""

from collections.abc import Callable, Iterable
from pathlib import Path

from suite.errors import LevelfieldError
from suite.fieldtools import dcgmi, nccl_tests, nvbandwidth, nvidia_smi
from suite.record.bounds import MAX_READINGS
from suite.record.schema import FieldOutput
from suite.safety import untrusted

MAX_BYTES = 16 * 1024 * 1024
"""Largest output that is read: nvidia-smi prints some 60 kB for each GPU."""
_PARSERS: tuple[tuple[tuple[bytes, ...], Callable[[bytes], FieldOutput]], ...] = (
    (nvidia_smi.MARKS, nvidia_smi.parse),
    (dcgmi.MARKS, dcgmi.parse),
    (nvbandwidth.MARKS, nvbandwidth.parse),
    (nccl_tests.MARKS, nccl_tests.parse),
)


def read(paths: Iterable[Path]) -> tuple[FieldOutput, ...]:
    """Read files with output of `nvidia-smi -q -x`, `dcgmi diag --json`, `nvbandwidth -j` or nccl-tests.

    Parameters
    ----------
    paths
        The files.

    Returns
    -------
    tuple of FieldOutput
        In the same order.

    Raises
    ------
    LevelfieldError
        A file cannot be read, is longer than `MAX_BYTES`, is none of these outputs or a damaged one, is given twice, or
        all hold more than `suite.record.bounds.MAX_READINGS` readings.
    """
    found = tuple(_read(path) for path in paths)
    if len({output.sha256 for output in found}) < len(found):
        raise LevelfieldError("Two of the files have the same content.", fix="Give each output once.")
    if sum(len(output.readings) for output in found) > MAX_READINGS:
        raise LevelfieldError(
            f"The outputs hold more than {MAX_READINGS:,} readings.", fix="Give fewer files, or run fewer tests."
        )
    return found


def _read(path: Path) -> FieldOutput:
    try:
        content = untrusted.read_plain(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(
            f"{path} cannot be read: {error.strerror or error}.", fix="Give a file with the output of one tool."
        ) from error
    return parse(content, path.name)


def parse(content: bytes, name: str) -> FieldOutput:
    """Read the output of whichever tool it is of.

    Parameters
    ----------
    content
        The output.
    name
        Name of its file, for messages.

    Raises
    ------
    LevelfieldError
        It is of none of the tools, or damaged.
    """
    parser = next((parser for marks, parser in _PARSERS if any(mark in content for mark in marks)), None)
    if parser is None:
        raise LevelfieldError(
            f"{name} is no output of nvidia-smi -q -x, dcgmi diag --json, nvbandwidth -j or nccl-tests.",
            fix="Record the output of one of them, whole and as it prints it.",
        )
    return parser(content)
