"""Which models are measured in batches, and in which; throughput is of two items or more, never of one."""

from collections.abc import Sequence

from suite import scenarios as registered
from suite.errors import LevelfieldError
from suite.plan.names import asked_by_name
from suite.plan.profiles import Profile
from suite.plan.sizes import batches
from suite.plan.types import Selection
from suite.prepare.own_model import support


def in_batches(
    selection: Selection, profile: Profile, models: Sequence[str], scenarios: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return the models of the batched scenarios, each with its batches.

    A record's own batches are taken as they are, one item among them. Else models for which a profile measures none
    are left out, unless a batch is typed or the scenario is named.

    Parameters
    ----------
    selection
        Batches and scenarios that the user named, and the user's own file.
    profile
        Batches where the user named none.
    models, scenarios
        All of the run.

    Raises
    ------
    LevelfieldError
        A batch cannot be measured, or one item at a time would be called throughput.
    """
    if selection.batches_of and not selection.batches:
        recorded = selection.batches_of
        return {model: batches(recorded[model], ()) for model in models if model in recorded}
    typed = batches(selection.batches, ())
    named = asked_by_name(selection.scenarios, profile.scenarios, lambda each: each.batched)
    own = selection.own
    if own is not None:
        support.check_batches(own, typed, named=named)
    if 1 in typed and any(each.batched and not each.from_dataset for each in map(registered.get, scenarios)):
        raise LevelfieldError(
            "A batch of 1 has no throughput: one item at a time is latency.",
            fix="Ask for batches of 2 or more, or for latency alone (--scenarios latency).",
        )
    if own is not None and not own.batched:
        return {}
    profiles_name = {model: model if own is None else support.SIZED_AS for model in models}
    return {
        model: typed or profile.batches[name]
        for model, name in profiles_name.items()
        if typed or named or name in profile.batched
    }
