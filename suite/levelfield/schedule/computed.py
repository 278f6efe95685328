"""Remember what arms were found to compute in, so that not every launch has to be asked."""

import msgspec

from levelfield.backends import registry
from levelfield.record.schema import Arm, Case, Computed
from levelfield.schedule.resources import RunResources
from levelfield.zoo import honesty


def known_computed(resources: RunResources, case: Case, arm: Arm) -> Computed | None:
    """Return what an arm was found to compute in earlier in this run; None: it is to be asked.

    On a CPU that follows from the image, the model and the precision, and some frameworks take seconds to say it: it is
    asked of the first launch of each case that is timed in windows, and of others only where no launch was asked. On a
    GPU a framework chooses algorithms by their speed, so every launch is asked of it, but for those that say which
    operators a call dispatches (what those say does not depend on it, docs/gpu.md).
    """
    if case.device != "cpu" and not registry.get(arm.backend).says_by_operators:
        return None
    return resources.computed.get(_place_of(case, arm))


def remember_computed(resources: RunResources, case: Case, arm: Arm, computed: Computed | None) -> None:
    """Keep what an arm was found to compute in for the launches that follow.

    `computed`: what was found; None: it does not say.
    """
    if computed is not None:
        resources.computed[_place_of(case, arm)] = computed
        resources.computed.setdefault((arm.id, case.model, case.precision), computed)


def recorded(computed: honesty.Computed | None) -> Computed | None:
    """Return what a worker says that it computes in as records hold it."""
    return Computed(**msgspec.structs.asdict(computed)) if computed is not None else None


def _place_of(case: Case, arm: Arm) -> tuple[str, ...]:
    return (arm.id, case.id) if case.timed else (arm.id, case.model, case.precision)
