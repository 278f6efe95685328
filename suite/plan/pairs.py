"""The plan of two arms against each other."""

from collections.abc import Sequence

import msgspec

from suite.compatibility.devices import Nvidia
from suite.errors import LevelfieldError
from suite.plan import arms as arm_names
from suite.plan.making import assemble, placed
from suite.plan.types import Plan, Selection
from suite.scenarios import get


def pair(
    selection: Selection,
    first: str,
    second: str,
    *,
    available: Sequence[int] | None = None,
    here: Nvidia | None = None,
) -> Plan:
    """Plan blocks of exactly two arms, which may be the same thing twice.

    Scenarios in which the launch is the turn get as many launches as the others, so that they too can be decided.

    Parameters
    ----------
    selection
        Everything but the backends.
    first, second
        Arms, as `suite.plan.arms` reads them.
    available, here
        As in `suite.plan.making.make`.

    Raises
    ------
    LevelfieldError
        As in `suite.plan.making.make`.
    """
    placement = placed(selection, (arm_names.parse(first), arm_names.parse(second)), here, named=True)
    arms = arm_names.numbered(placement.arms)
    placement = msgspec.structs.replace(placement, arms=arms)
    made = assemble(msgspec.structs.replace(selection, control="none"), placement, available)
    launches = max(made.profile.generations, made.profile.launches_alone)
    # Of a framework and a runtime that reads finished models, one can train: no pair.
    blocks = [block for block in made.blocks if len(block.arms) == len(arms)]
    if not blocks:
        raise LevelfieldError(f"Of {first} and {second} only one can train.", fix="Ask for another scenario.")
    scenarios = tuple(dict.fromkeys(block.case.scenario for block in blocks))
    return msgspec.structs.replace(
        made,
        blocks=tuple(msgspec.structs.replace(block, planned_generations=launches) for block in blocks),
        scenarios=scenarios,
        training_batches=made.training_batches if any(get(name).trains for name in scenarios) else {},
    )
