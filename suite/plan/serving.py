"""Which models are measured in batches, and in which; throughput is of two items or more, never of one."""

from collections.abc import Sequence

from suite.errors import LevelfieldError
from suite.own_file import wishes
from suite.plan.scenarios import BATCHED, by_name
from suite.plan.sizes import batches
from suite.plan.types import Selection
from suite.profiles import Profile
from suite.records.schema import THROUGHPUT


def in_batches(
    selection: Selection, profile: Profile, models: Sequence[str], scenarios: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return the models of the scenarios in `BATCHED`, each with its batches.

    A record's own batches are taken as they are, one item among them. Else models for which a profile measures none
    are left out, unless a batch is typed or the scenario is asked for by name.

    Raises
    ------
    LevelfieldError
        A batch cannot be measured, or one item at a time would be called throughput.
    """
    if selection.batches_of and not selection.batches:
        recorded = selection.batches_of
        return {model: batches(recorded[model], ()) for model in models if model in recorded}
    typed = batches(selection.batches, ())
    named = any(by_name(each, selection.scenarios, profile.scenarios) for each in BATCHED)
    own = selection.own
    if own is not None:
        wishes.check_batches(own, typed, named=named)
    if 1 in typed and any(each in THROUGHPUT for each in scenarios):
        raise LevelfieldError(
            "A batch of 1 has no throughput: one item at a time is latency.",
            fix="Ask for batches of 2 or more, or for latency alone (--scenarios latency).",
        )
    if own is not None and not own.batched:
        return {}
    profiles_name = {model: model if own is None else wishes.SIZED_AS for model in models}
    return {
        model: typed or profile.batches[name]
        for model, name in profiles_name.items()
        if typed or named or name in profile.batched
    }
