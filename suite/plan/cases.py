"""From what was chosen to the cases: every scenario with every model, precision, number of threads and batch it has."""

import itertools
from collections.abc import Mapping, Sequence

from suite.errors import LevelfieldError
from suite.plan import trainings
from suite.plan.names import names_of_models
from suite.record.schema import Case
from suite.scenarios import ScenarioName, get, in_order
from suite.zoo import models


def cases(
    scenarios: Sequence[str],
    chosen: Sequence[str],
    precisions: Sequence[str],
    threads: Sequence[int],
    sizes: Mapping[ScenarioName, Mapping[str, tuple[int, ...]]],
    device: str,
) -> tuple[Case, ...]:
    """Return the cases, in the order in which they are measured.

    Parameters
    ----------
    scenarios, chosen, precisions, threads
        What was asked for; `chosen` are the models.
    sizes
        By scenario and model: the batches. Models that a scenario does not name are left out of it; scenarios that do
        not stand here are measured one by one.
    device
        `cpu` or `cuda`.

    Raises
    ------
    LevelfieldError
        No model that was asked for can be measured in any of the scenarios.
    """
    found = tuple(
        Case(model, scenario, precision, batch, count, device)
        for scenario in in_order(scenarios)
        for model, precision, count in itertools.product(chosen, precisions, threads)
        for batch in (sizes[scenario].get(model, ()) if scenario in sizes else (1,))
        if precision == trainings.PRECISION or not (get(scenario).trains or get(scenario).to_target)
        if not get(scenario).from_dataset or models.get(model).dataset_items
    )
    if not found:
        from_dataset = [name for name in scenarios if get(name).from_dataset]
        raise LevelfieldError(
            f"{', '.join(chosen)}: {from_dataset[0]} reads images or features, and this model takes neither."
            if from_dataset
            else f"{', '.join(chosen)}: there is no network of this kind that is trained to a target.",
            fix=f"Ask for {', '.join(name for name in names_of_models() if models.get(name).dataset_items)}.",
        )
    return found
