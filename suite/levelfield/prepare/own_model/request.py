"""From the options on a user's own file to what is measured."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import python_file, store
from levelfield.record.schema import Arm, OwnFile
from levelfield.scenarios import get


def read(path: Path | None, sizes: tuple[tuple[str, str], ...], values: tuple[tuple[str, str], ...]) -> OwnFile | None:
    """Keep and read the file; None where there is none.

    Raises LevelfieldError: it cannot be measured; or something was said of a file, and none was given.
    """
    if path is None:
        if sizes or values:
            option = "--dim" if sizes else "--input"
            raise LevelfieldError(
                f"{option} is about a file of your own, and none was given.", fix="Add --model FILE.onnx."
            )
        return None
    for option, pairs in (("--dim", sizes), ("--input", values)):
        for twice in (name for name, count in Counter(name for name, _ in pairs).items() if count > 1):
            raise LevelfieldError(f"{option} was given twice for {twice}.", fix="Once is enough.")
    return store.read(path, {name: int(size) for name, size in sizes}, {name: Path(file) for name, file in values})


def keep_recorded(path: Path, recorded: OwnFile | None) -> None:
    """Keep the file that a record names, so that it is found by its digest.

    `recorded`: the record's description of the file; None: the run was of the tool's own models. Raises
    LevelfieldError: it is another file, or the record names none.
    """
    if recorded is None:
        raise LevelfieldError("The report is of this tool's own models, and needs no file.", fix="Leave --model out.")
    if recorded.function:
        raise LevelfieldError(f"The report is of a network in Python, {recorded.file}.", fix="Give it with --module.")
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
        raise LevelfieldError("The report is not of a network in Python.", fix="Leave --module out.")
    found = python_file.keep(text)
    if (found.sha256, found.function) != (recorded.sha256, recorded.function):
        raise LevelfieldError(
            f"{found.file}:{found.function} (SHA-256 {found.sha256[:16]}…) is not what was measured: that is "
            f"{recorded.function} of the file {recorded.sha256[:16]}….",
            fix=f"Ask its author for {recorded.file}.",
        )


REFERENCE = "onnxruntime"
"""Image of the reference of its outputs."""
SIZED_AS = "resnet50"
"""Model whose batches a profile uses for a file, whose size is not known."""


def readers(backends: Sequence[str], own: OwnFile | None = None) -> tuple[str, ...]:
    """Return the backends that run a user's own file."""
    if own is None or not own.function:
        return tuple(name for name in backends if registry.get(name).reads == "onnx")
    infos = map(registry.get, backends)
    return tuple(info.name for info in infos if info.imports == (own.framework,) and info.reads == "native")


def check(own: OwnFile, models: Sequence[str], arms: Sequence[Arm]) -> None:
    """Refuse models and backends that cannot be combined with a user's own file.

    `models`: models that the user named; there must be none. `arms`: arms that the user named; each must read ONNX
    files. Raises LevelfieldError: models were named too, or backends that read no ONNX file.
    """
    if models:
        raise LevelfieldError(
            "--model and --module measure a file of your own, and --models names those of this tool.",
            fix="Ask for one of the two: they are two runs.",
        )
    unsuitable = list(dict.fromkeys(arm.backend for arm in arms if not readers([arm.backend], own)))
    if unsuitable and own.function:
        raise LevelfieldError(
            f"{own.file} is written for {own.framework}, and {', '.join(unsuitable)} is not of it.",
            fix=f"Ask for {', '.join(readers(registry.all_names(), own))}.",
        )
    if unsuitable:
        raise LevelfieldError(
            f"{', '.join(unsuitable)} read{'s' if len(unsuitable) == 1 else ''} no ONNX file, and {own.file} is one.",
            fix=f"Ask for {', '.join(readers(registry.all_names()))}.",
        )


def scenarios(own: OwnFile, requested: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios that a file is measured in.

    Raises LevelfieldError: one was named that a file cannot be measured in.
    """
    for scenario in requested:
        if reason := get(scenario).not_of_a_file:
            raise LevelfieldError(
                f"{own.file} cannot be measured in {scenario}: {reason}.",
                fix="Ask for latency, throughput, memory or cold-start.",
            )
    return tuple(requested) or tuple(scenario for scenario in otherwise if not get(scenario).not_of_a_file)


def precisions(own: OwnFile, requested: Sequence[str]) -> tuple[str, ...]:
    """Return the one precision that a file is run in: its own.

    Raises LevelfieldError: another was named.
    """
    if any(name != own.precision for name in requested):
        raise LevelfieldError(
            f"{own.file} is in {own.precision}, and is measured as it is.",
            fix=f"Leave out --precision; to measure it in another, give a file in {' or '.join(requested)}.",
        )
    return (own.precision,)


def check_batches(own: OwnFile, requested: Sequence[int], *, named: bool) -> None:
    """Refuse batches and throughput of a file whose shapes are fixed: a call is one item.

    Raises LevelfieldError: the shapes are fixed, and a batch other than 1 or throughput is named.
    """
    if own.batched:
        return
    if any(batch != 1 for batch in requested):
        raise LevelfieldError(
            f"The shapes of {own.file} are fixed, so that a call is a call: it counts as one item.",
            fix="Leave out --batch, or export it with a first dimension that has no size.",
        )
    if named:
        raise LevelfieldError(
            f"The shapes of {own.file} are fixed, so that a call counts as one item: its throughput is 1 ÷ latency.",
            fix="Ask for --scenarios latency, or export it with a first dimension that has no size.",
        )
