"""From what was chosen to blocks: the cases in their order, and the arms of each, the control among them."""

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.plan import arms as arm_names
from levelfield.plan.batches import FP32
from levelfield.plan.decoding import STATIC
from levelfield.plan.names import CANARY, known, names_of_models
from levelfield.plan.profiles import Profile
from levelfield.plan.types import Selection, answers
from levelfield.record.bounds import MAX_ARMS
from levelfield.record.references import ALIASES, DEFAULT_VARIANT
from levelfield.record.schema import Arm, Block, Case, KVCache
from levelfield.scenarios import ScenarioName, get, in_order
from levelfield.zoo import flops, models
from levelfield.zoo import models as zoo

CONTROLLED = "resnet50"
"""Model whose latency block has the control, where it is in the plan."""


def cases(
    scenarios: Sequence[str],
    chosen: Sequence[str],
    precisions: Sequence[str],
    threads: Sequence[int],
    batches: Mapping[ScenarioName, Mapping[str, tuple[int, ...]]],
    device: str,
    processes: Sequence[int],
    depths: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    kv_caches: Sequence[KVCache] = STATIC,
    trained: Sequence[str] = (FP32,),
) -> tuple[Case, ...]:
    """Return the cases in the order in which they are measured; LevelfieldError: there is none."""
    _refuse_operators(scenarios, chosen)
    found = tuple(
        Case(model, scenario, precision, batch, count, device, together, depth=depth, growing_cache=cache == "growing")
        for scenario in in_order(scenarios)
        for model, precision, count in itertools.product(chosen, precisions, threads)
        for batch in (batches[scenario].get(model, ()) if scenario in batches else (1,))
        if precision == FP32 or not get(scenario).in_fp32_alone
        if precision in trained or not get(scenario).learns
        if get(scenario).operators == (model in models.operators())
        if not get(scenario).from_dataset or models.get(model).dataset_items
        for together in (processes if get(scenario).trains else (1,))
        for depth in (depths.get(model, ()) if get(scenario).decodes else (0,))
        for cache in (kv_caches if get(scenario).decodes else STATIC)
    )
    if not found:
        _refuse_networks(scenarios, chosen)
        from_dataset = [name for name in scenarios if get(name).from_dataset]
        raise LevelfieldError(
            f"{', '.join(chosen)}: {from_dataset[0]} reads images or features, and this model takes neither."
            if from_dataset
            else f"{', '.join(chosen)}: there is no network of this kind that is trained to a target.",
            fix=f"Ask for {', '.join(name for name in names_of_models() if models.get(name).dataset_items)}.",
        )
    return found


def _refuse_operators(scenarios: Sequence[str], chosen: Sequence[str]) -> None:
    single = [name for name in chosen if name in models.operators()]
    if single and not any(get(scenario).operators for scenario in scenarios):
        raise LevelfieldError(f"{single[0]} is a single operator.", fix="Ask for --scenarios operators.")


def _refuse_networks(scenarios: Sequence[str], chosen: Sequence[str]) -> None:
    if all(get(scenario).operators for scenario in scenarios):
        raise LevelfieldError(
            f"{', '.join(chosen)}: no operator here has the shape of a layer of it.",
            fix="Leave --models out, or name operators that `levelfield list` shows.",
        )


def blocks(cases: Sequence[Case], arms: tuple[Arm, ...], selection: Selection, profile: Profile) -> tuple[Block, ...]:
    """Return one block for every case, in their order; one block of latency has the control.

    Raises LevelfieldError: a block has more arms than a record may have (`record.bounds`).
    """
    latencies = [case for case in cases if case.scenario == "latency"]
    latencies = latencies or [case for case in cases if case.definition.on_device][:1]
    controlled = next((case for case in latencies if case.model == CONTROLLED), next(iter(latencies), None))
    found = tuple(
        _block(case, _slowed(_with_control(arms, case, selection) if case == controlled else arms, selection), profile)
        for case in cases
    )
    if (most := max(len(block.arms) for block in found)) > MAX_ARMS:
        raise LevelfieldError(
            f"{most} arms would be compared in one case, and {MAX_ARMS} are the most of one run.",
            fix="Name fewer with --backends, or measure in several runs.",
        )
    return found


def _with_control(arms: tuple[Arm, ...], case: Case, selection: Selection) -> tuple[Arm, ...]:
    """Add one arm a second time, as the A/A control."""
    if selection.control == "none":
        return arms
    able = [arm for arm in arms if answers(case, arm)]
    backends = {arm.backend: arm for arm in reversed(able)} | {arm.id: arm for arm in able}
    requested = ALIASES.get(selection.control, selection.control)
    if requested == "auto":
        requested = next((name for name in registry.controls() if name in backends), able[0].id)
    twin = backends[known("backend", [requested], backends)[0]]
    return arm_names.numbered((*arms, twin))


def _slowed(arms: tuple[Arm, ...], selection: Selection) -> tuple[Arm, ...]:
    if selection.inject is None:
        return arms
    amount, name = selection.inject
    if not any(arm.id == name for arm in arms):
        chosen = [arm.id for arm in arms if _without_variant(arm) == name]
        name = chosen[0] if len(chosen) == 1 else name
    known("arm", [name], {each for arm in arms for each in _spellings(arm, repeated=selection.control != "none")})
    return tuple(msgspec.structs.replace(arm, inject=amount) if arm.id == name else arm for arm in arms)


def _spellings(arm: Arm, *, repeated: bool) -> set[str]:
    """Return an arm's id, with and without its CUDA variant, and those of a control that another block may have."""
    plain = {arm.id, _without_variant(arm)}
    return plain | ({f"{each}#2" for each in plain} if arm.ordinal == 1 and repeated else set())


def _without_variant(arm: Arm) -> str:
    """Return an arm's id as it is typed where the variant is chosen by the machine."""
    return msgspec.structs.replace(arm, variant=DEFAULT_VARIANT).id


def _block(case: Case, arms: tuple[Arm, ...], profile: Profile) -> Block:
    if case.trains or case.converges:
        arms = tuple(arm for arm in arms if registry.get(arm.backend).trains)
    if case.definition.decodes:
        arms = tuple(arm for arm in arms if case.device in registry.get(arm.backend).decodes)
    if case.converges:
        return Block(case=case, arms=arms, planned_generations=profile.seeds)
    if case.definition.driven:
        return Block(case=case, arms=arms, planned_generations=profile.generations)
    if not case.timed:
        return Block(case=case, arms=arms, planned_generations=profile.launches_alone)
    return Block(case=case, arms=arms, planned_generations=profile.generations, canary=CANARY)


def beside(models: Sequence[str], scenarios: Sequence[str]) -> tuple[str, ...]:
    """Add the operators of the networks, where operators are asked for and none is named."""
    if not any(get(name).operators for name in scenarios) or set(models) & set(zoo.operators()):
        return tuple(models)
    found = {each for name in models for each in flops.operators_of(name, zoo.operators())}
    return (*models, *(name for name in zoo.operators() if name in found))
