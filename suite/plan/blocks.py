"""From cases to blocks: the arms of each, how often they are launched, and which has a control or a slowdown."""

from collections.abc import Sequence

import msgspec

from suite.backends import registry
from suite.plan import arms as arm_names
from suite.plan.names import CANARY, known
from suite.plan.profiles import Profile
from suite.plan.types import Selection, answers
from suite.record.schema import Arm, Block, Case

CONTROLLED = "resnet50"
"""Model whose latency block has the control, where it is in the plan."""
CONTROLS = ("onnxruntime", "jax", "torch")
"""Backends that may serve as the control, the quickest to launch first."""


def blocks(cases: Sequence[Case], arms: tuple[Arm, ...], selection: Selection, profile: Profile) -> tuple[Block, ...]:
    """Return one block for every case, in their order; one block of latency has the control.

    Parameters
    ----------
    cases
        What is measured.
    arms
        All arms of the run; training blocks have only those that can train.
    selection
        Names the control, and the arm to slow down.
    profile
        Generations of each kind of block.

    Raises
    ------
    LevelfieldError
        The backend named as control, or the arm to slow down, is none of these.
    """
    latencies = [case for case in cases if case.scenario == "latency"]
    controlled = next((case for case in latencies if case.model == CONTROLLED), next(iter(latencies), None))
    return tuple(
        _block(case, _slowed(_with_control(arms, case, selection) if case == controlled else arms, selection), profile)
        for case in cases
    )


def _with_control(arms: tuple[Arm, ...], case: Case, selection: Selection) -> tuple[Arm, ...]:
    """Add one arm a second time, as the A/A control."""
    if selection.control == "none":
        return arms
    able = [arm for arm in arms if answers(case, arm)]
    backends = {arm.backend: arm for arm in reversed(able)} | {arm.id: arm for arm in able}
    wanted = selection.control
    if wanted == "auto":
        wanted = next((name for name in CONTROLS if name in backends), able[0].id)
    twin = backends[known("backend", [wanted], backends)[0]]
    return arm_names.numbered((*arms, twin))


def _slowed(arms: tuple[Arm, ...], selection: Selection) -> tuple[Arm, ...]:
    """Slow down the arm that was named."""
    if selection.inject is None:
        return arms
    amount, name = selection.inject
    known("arm", [name], {arm.id for arm in arms} | {f"{arm.id}#2" for arm in arms if arm.ordinal == 1})
    return tuple(msgspec.structs.replace(arm, inject=amount) if arm.id == name else arm for arm in arms)


def _block(case: Case, arms: tuple[Arm, ...], profile: Profile) -> Block:
    if case.trains or case.converges:
        arms = tuple(arm for arm in arms if registry.get(arm.backend).trains)
    if case.converges:
        return Block(case=case, arms=arms, planned_generations=profile.seeds)
    if not case.timed:
        return Block(case=case, arms=arms, planned_generations=profile.launches_alone)
    return Block(case=case, arms=arms, planned_generations=profile.generations, canary=CANARY)
