"""Names that a user can give: models, backends and images; not the canary and the exporter."""

import functools
import importlib.util
from collections.abc import Callable, Collection, Iterable, Sequence

from levelfield import scenarios
from levelfield.backends import precisions, registry
from levelfield.backends.info import PRECISIONS, BackendInfo
from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.record.schema import Arm
from levelfield.scenarios import Scenario
from levelfield.zoo import models
from levelfield.zoo import models as zoo

CANARY = "canary"
EXPORTER = "exporter"
"""Image that writes the ONNX files."""


def names_of_models() -> tuple[str, ...]:
    return tuple(name for name in models.names() if name != CANARY)


def default_models() -> tuple[str, ...]:
    """Return the models that a run measures where none are named."""
    return tuple(name for name in names_of_models() if models.get(name).by_default)


def names_of_backends() -> tuple[str, ...]:
    """Return the backends that compute on the CPU."""
    return tuple(name for name in registry.names() if name != CANARY)


def all_images() -> tuple[str, ...]:
    """Return every image that some run needs: one for each framework, the exporter, the canary."""
    return tuple(dict.fromkeys((*(registry.get(name).image for name in names_of_backends()), EXPORTER, CANARY)))


def known(kind: str, requested: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    """Return the names that were asked for, each once; LevelfieldError: one does not exist (close ones are named)."""
    names = list(there)
    for name in requested:
        if name not in names:
            raise unknown(kind, name, names)
    return tuple(dict.fromkeys(requested))


def rising(option: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of an option in rising order; LevelfieldError: a number is named twice."""
    found = tuple(sorted(set(numbers)))
    if len(found) < len(numbers):
        twice = next(number for number in numbers if list(numbers).count(number) > 1)
        raise LevelfieldError(
            f"{option} names {twice} twice.", fix=f"Name every number once: {option} {','.join(map(str, found))}."
        )
    return found


def named_explicitly(
    requested: Collection[str], of_profile: Collection[str], which: Callable[[Scenario], bool]
) -> bool:
    """Return whether a scenario of some kind was asked for by name."""
    return set(requested) != set(of_profile) and any(which(scenarios.get(name)) for name in requested)


OPERATORS = "single operators"


def why_not(backend: str, model: str) -> str:
    """Say why a backend does not compute a model; empty where it does."""
    info = registry.get(backend)
    if zoo.has_own_weights(model):
        taken = info.sized and _has(info, model)
        return "" if taken else f"{backend} takes no weights of your own for {zoo.get(model).package} here."
    if model not in (*zoo.operators(), *zoo.answering(), *names_of_models()) or _has(info, model):
        return ""
    return f"{backend} has no definition of {_called(model)} here: it has those of {', '.join(_there(info))}."


def check(models: Sequence[str], arms: Sequence[Arm]) -> None:
    """Refuse (LevelfieldError) models of which no arm has a definition."""
    left = [name for name in models if all(why_not(arm.backend, name) for arm in arms)]
    if left:
        backends = list(dict.fromkeys(arm.backend for arm in arms))
        there = list(dict.fromkeys(name for each in backends for name in _there(registry.get(each))))
        others = [name for name in names_of_backends() if not any(why_not(name, each) for each in left)]
        raise LevelfieldError(
            f"{', '.join(backends)}: there is no definition of {', '.join(dict.fromkeys(map(_called, left)))} here.",
            fix=f"Ask for {', '.join(there)}, or name another backend: {', '.join(others)}.",
        )


def _called(model: str) -> str:
    return OPERATORS if model in zoo.operators() else model


def _there(info: BackendInfo) -> list[str]:
    return [name for name in names_of_models() if _has(info, name)]


def _has(info: BackendInfo, model: str) -> bool:
    """Return whether a wrapper's definition is in the model's folder; every other backend has all models."""
    return not info.wraps or _written(zoo.get(model).module_name(info.distribution))


@functools.cache
def _written(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


DEFAULT = "fp32"
QUANTIZED = "int8"


def chosen_precisions(
    requested: Sequence[str], arms: Sequence[Arm], device: str, *, own: bool = False
) -> tuple[str, ...]:
    """Return the precisions to measure, `DEFAULT` where none is named; LevelfieldError: no arm computes in one.

    `own`: it is that of the user's own file.
    """
    requested = known("precision", requested, PRECISIONS) or (DEFAULT,)
    for precision in requested:
        reasons = [precisions.why_not(arm.backend, precision, device, own=own) for arm in arms]
        if all(reasons):
            there = [name for name in PRECISIONS if name != precision]
            others = [name for name in there if any(name in precisions.supported(arm.backend, device) for arm in arms)]
            raise LevelfieldError(
                f"Nobody here computes in {precision} on the {device.upper() if device == 'cpu' else 'GPU'}. "
                + " ".join(dict.fromkeys(reasons)),
                fix="Name a backend that does, or give another file."
                if own
                else f"Choose --precision {','.join(others)}.",
            )
    return requested


def trained_precisions(arms: Sequence[Arm], requested: Sequence[str], device: str) -> tuple[str, ...]:
    """Return those of the precisions in which at least one arm trains."""
    able = {name for arm in arms for name in precisions.supported(arm.backend, device, training=True)}
    return tuple(name for name in requested if name in able)


def refuse_training(arms: Sequence[Arm], precision: str, device: str) -> None:
    """Refuse to train in a precision in which no arm does: LevelfieldError, with each arm's reason."""
    reasons = [precisions.why_not(arm.backend, precision, device, training=True) for arm in arms]
    raise LevelfieldError(
        f"No backend here trains in {precision}. {' '.join(filter(None, dict.fromkeys(reasons)))}",
        fix=f"Choose --precision {','.join(trained_precisions(arms, PRECISIONS, device))}, or other scenarios.",
    )


def check_fp32(scenarios: Sequence[Scenario], precisions: Sequence[str]) -> None:
    """Refuse (LevelfieldError) decoding and single operators where fp32 is not among the precisions."""
    single = [each for each in scenarios if each.decodes or each.operators]
    if DEFAULT not in precisions and single:
        raise LevelfieldError(
            f"{single[0].name} is measured in fp32 alone.", fix="Add fp32 to --precision, or ask for other scenarios."
        )


def check_quantized(models: Sequence[str], precisions: Sequence[str]) -> None:
    """Refuse (LevelfieldError) 8 bits of a model that does not say what is quantised in it."""
    left = [name for name in models if not zoo.get(name).quantized] if QUANTIZED in precisions else []
    if left:
        there = [name for name in zoo.names() if zoo.get(name).quantized]
        raise LevelfieldError(
            f"{', '.join(left)} cannot be measured in {QUANTIZED}: what would be quantised is not defined.",
            fix=f"Leave {QUANTIZED} out, or ask for {', '.join(there)}.",
        )
