"""Backends, scenarios, precisions and batches that a user's own file can be measured with."""

from collections.abc import Sequence

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.record import warnings as notices
from levelfield.record.schema import Arm, OwnFile, Warning_
from levelfield.scenarios import get

REFERENCE = "onnxruntime"
"""Image of the reference of its outputs."""
EXPORTED = "torch"
"""Framework whose networks are exported to ONNX."""
_TRIED = {"jax": "; jax2onnx 0.17.1, tried with JAX 0.12.0.1, fails where jax.jit is called"}
SIZED_AS = "resnet50"
"""Model whose batches a profile uses for a file, whose size is not known."""


def readers(backends: Sequence[str], own: OwnFile | None = None) -> tuple[str, ...]:
    """Return the backends that run a user's own file: a network of PyTorch is exported for those that read ONNX."""
    infos = [registry.get(name) for name in backends]
    exported = own is None or not own.function or own.framework == EXPORTED
    return tuple(
        info.name
        for info in infos
        if (info.reads == "onnx" and exported)
        or (own is not None and info.imports == (own.framework,) and info.reads == "native")
    )


def left_out(own: OwnFile, backends: Sequence[str]) -> tuple[Warning_, ...]:
    """Say which of the backends that read ONNX do not get a network of another framework than PyTorch, and why."""
    names = [name for name in backends if registry.get(name).reads == "onnx" and not readers([name], own)]
    return (notices.left_out(names, _why(own), "Give --model an ONNX file that you made of it."),) if names else ()


def _why(own: OwnFile) -> str:
    return "networks of PyTorch alone are exported to ONNX" + _TRIED.get(own.framework, "")


def check(own: OwnFile, models: Sequence[str], arms: Sequence[Arm]) -> None:
    """Refuse models and backends that cannot be combined with a user's own file.

    `models`: models that the user named; there must be none. `arms`: arms that the user named; each must read ONNX
    files. Raises LevelfieldError: models were named too, or backends that read no ONNX file.
    """
    if models:
        raise LevelfieldError(
            "--model measures a file of your own, and --models names those of this tool.",
            fix="Ask for one of the two: they are two runs.",
        )
    unsuitable = list(dict.fromkeys(arm.backend for arm in arms if not readers([arm.backend], own)))
    if unsuitable:
        who, why = ", ".join(unsuitable), "" if own.framework == EXPORTED else f": {_why(own)}"
        said = f"{who} read{'s' if len(unsuitable) == 1 else ''} no ONNX file, and {own.file} is one."
        if own.function:
            said = f"{own.file} is written for {own.framework}, and {who} cannot run it{why}."
        raise LevelfieldError(said, fix=f"Ask for {', '.join(readers(registry.all_names(), own))}.")


def scenarios(own: OwnFile, requested: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios that a file is measured in.

    Raises LevelfieldError: one was named that a file cannot be measured in.
    """
    for scenario in requested:
        if reason := get(scenario).not_of_a_file:
            said = f"{own.file} cannot be measured in {scenario}: {reason}."
            raise LevelfieldError(said, fix="Ask for latency, throughput, memory or cold-start.")
    return tuple(requested) or tuple(scenario for scenario in otherwise if not get(scenario).not_of_a_file)


def precisions(own: OwnFile, requested: Sequence[str]) -> tuple[str, ...]:
    """Return the one precision that a file is run in: its own.

    Raises LevelfieldError: another was named.
    """
    if any(name != own.precision for name in requested):
        raise LevelfieldError(
            f"{own.file} is in {own.precision}, and is measured as it is.",
            fix="Leave out --precision"
            + ("." if own.function else f"; to measure it in another, give a file in {' or '.join(requested)}."),
        )
    return (own.precision,)


def check_batches(own: OwnFile, requested: Sequence[int], *, named: bool) -> None:
    """Refuse batches and throughput of a file whose shapes are fixed: a call is one item.

    Raises LevelfieldError: the shapes are fixed, and a batch other than 1 or throughput is named.
    """
    if own.batched:
        return
    said = f"The shapes of {own.file} are fixed, so that a call counts as one item"
    if any(batch != 1 for batch in requested):
        other = "Leave out --batch"
    elif named:
        said, other = f"{said}: its throughput is 1 ÷ latency", "Ask for --scenarios latency"
    else:
        return
    raise LevelfieldError(f"{said}.", fix=f"{other}, or give an ONNX file whose first dimension has no size.")
