"""The plan that a record began with."""

import msgspec

from suite.plan.names import known
from suite.plan.profiles import PROFILES
from suite.plan.types import Plan
from suite.prepare.own_model import store
from suite.record.schema import Run


def of(run: Run) -> Plan:
    """Return the plan that a record began with, to resume it or to run it again.

    Raises
    ------
    LevelfieldError
        The record is of a profile that is not known here, or of a user's own file that is not here.
    """
    settings = run.settings
    return Plan(
        profile=PROFILES[known("profile", [settings.profile], PROFILES)[0]],
        blocks=tuple(msgspec.structs.replace(block, generations=()) for block in run.blocks),
        models=settings.models,
        backends=settings.backends,
        scenarios=tuple(dict.fromkeys(block.case.scenario for block in run.blocks)),
        precisions=settings.precisions,
        batches=settings.batches,
        threads=settings.thread_counts or (settings.threads,),
        processes=settings.process_counts or (1,),
        cpus=settings.cpus,
        gpu=settings.gpu,
        training_batches=settings.training_batches,
        own=store.again(settings.own) if settings.own is not None else None,
    )


def with_launches(plan: Plan, launches: int | None) -> Plan:
    """Return a plan in which every block has a least number of generations.

    Parameters
    ----------
    plan
        A plan; blocks with more generations keep them.
    launches
        The least number; None: the plan is returned as it is.
    """
    if launches is None:
        return plan
    return msgspec.structs.replace(
        plan,
        blocks=tuple(
            msgspec.structs.replace(block, planned_generations=max(block.planned_generations, launches))
            for block in plan.blocks
        ),
    )
