"""Which models answer token by token, in which batches, and at which depths."""

import math
from collections.abc import Mapping, Sequence
from typing import get_args

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.machine.findings import gibibytes
from levelfield.plan.names import known, names_of_backends, names_of_models, rising
from levelfield.plan.types import Selection
from levelfield.record.schema import Arm, Case, KVCache
from levelfield.scenarios import Scenario
from levelfield.zoo import models as zoo
from levelfield.zoo.decoding import Call, why_not

FLOAT_BYTES = 4
STATIC: tuple[KVCache, ...] = ("static",)


def decoders() -> tuple[str, ...]:
    """Return the models that answer token by token."""
    return tuple(name for name in names_of_models() if zoo.get(name).decoding is not None)


def call_of(case: Case) -> Call | None:
    """Return what a call of a case computes where it answers token by token; None: it does not."""
    kind = case.definition.decodes
    return Call(kind, case.depth) if kind else None


def models_of(
    selection: Selection,
    profile: str,
    models: Sequence[str],
    scenarios: Sequence[Scenario],
    arms: Sequence[Arm],
    device: str,
) -> dict[str, tuple[int, ...]]:
    """Return the models that answer token by token, each with its depths; LevelfieldError: none does, or none fits."""
    asked = [each for each in scenarios if each.decodes]
    if not asked:
        if selection.depths:
            raise LevelfieldError(
                "--depths is of prefill, decode and generate, and none of them is measured.",
                fix="Ask for --scenarios prefill,decode,generate, or leave --depths out.",
            )
        return {}
    refused = [name for name in selection.models if zoo.get(name).decoding is None]
    if selection.own is None and refused and all(each.decodes for each in scenarios):
        raise LevelfieldError(
            f"{', '.join(refused)} does not answer token by token.", fix=f"Ask for {', '.join(decoders())}."
        )
    if not any(device in registry.get(arm.backend).decodes for arm in arms):
        names = ", ".join(dict.fromkeys(arm.backend for arm in arms))
        others = ", ".join(name for name in names_of_backends() if device in registry.get(name).decodes)
        raise LevelfieldError(
            f"{names} keeps no cache of keys and values {'here' if device == 'cpu' else 'on a GPU'}.",
            fix=f"Ask for {others}{'' if device == 'cpu' else ', or for the CPU: --variant cpu'}.",
        )
    found: dict[str, tuple[int, ...]] = {}
    for name in models:
        decoding = zoo.get(name).decoding if selection.own is None else None
        if decoding is None:
            continue
        found[name] = rising("--depths", selection.depths) or decoding.depths[profile]
        calls = [Call(each.decodes, depth) for each in asked for depth in found[name] if each.decodes]
        for why in filter(None, (why_not(decoding, call) for call in calls)):
            most = min(Call(call.kind, 1).depth + decoding.context - Call(call.kind, 1).length for call in calls)
            raise LevelfieldError(why, fix=f"Choose --depths from 1 to {most}.")
    if not found:
        raise LevelfieldError(
            f"{', '.join(models)}: {asked[0].name} is of models that answer token by token, and none of these does.",
            fix=f"Leave {asked[0].name} out, or ask for {', '.join(decoders())} as well.",
        )
    return found


def check_room(batches: Mapping[str, Sequence[int]], most_bytes: int) -> None:
    """Refuse batches whose weights and caches, of float32, do not fit into a worker's memory."""
    for name, sizes in batches.items():
        model = zoo.get(name)
        if model.decoding is None or not sizes:
            continue
        weights = model.parameter_count * FLOAT_BYTES
        cache = sum(math.prod(tensor.shape) for tensor in model.decoding.caches) * FLOAT_BYTES
        batch = max(sizes)
        if weights + batch * cache > most_bytes:
            raise LevelfieldError(
                f"The cache of {name} takes {gibibytes(batch * cache)} in a batch of {batch}, and a worker may take "
                f"{gibibytes(most_bytes)} here.",
                fix=f"Choose --batch {max(1, (most_bytes - weights) // cache)} or less.",
            )


def kv_caches_of(selection: Selection, scenarios: Sequence[Scenario], arms: Sequence[Arm]) -> tuple[KVCache, ...]:
    """Return the caches that models answer token by token with, the static one first."""
    asked = known("cache", selection.kv_caches, get_args(KVCache))
    if asked and not any(each.decodes for each in scenarios):
        raise LevelfieldError(
            "--kv-cache is of prefill, decode and generate, and none of them is measured.",
            fix="Ask for --scenarios prefill,decode,generate, or leave --kv-cache out.",
        )
    reasons = [info.no_growing_cache for info in (registry.get(arm.backend) for arm in arms) if info.decodes]
    if "growing" in asked and all(reasons):
        able = [
            name for name in names_of_backends() if registry.get(name).decodes and not registry.get(name).why_static
        ]
        raise LevelfieldError(
            " ".join(dict.fromkeys(reasons)), fix=f"Ask for {', '.join(able)}, or leave --kv-cache out."
        )
    return tuple(name for name in get_args(KVCache) if name in asked) or STATIC
