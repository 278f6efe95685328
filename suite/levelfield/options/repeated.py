"""The values of options with which a rerun measures the same plan as a run; empty: the option is left out."""

from collections.abc import Sequence

from levelfield.options.values import LoadGen
from levelfield.record.schema import Arm, Run


def _arms(run: Run) -> dict[str, Arm]:
    return {arm.id: arm for block in run.blocks for arm in block.arms}


def pair(run: Run) -> list[str]:
    """Return how the arms of an `ab` are named; empty: it was none."""
    arms = list(_arms(run))
    return [typable(arms[0]), typable(arms[1].partition("#")[0])] if "ab" in run.labels and len(arms) == 2 else []


def typable(arm: str) -> str:
    """Leave out the variant of the `host` launcher, which means any CUDA that was installed."""
    return arm.replace("@cuda", "")


def models(run: Run) -> Sequence[str]:
    """Return the models, by their families where weights are the user's own."""
    if run.settings.own is not None:
        return ()
    own = {weights.model: weights.model.partition("-")[0] for weights in run.settings.own_weights}
    return tuple(dict.fromkeys(own.get(name, name) for name in run.settings.models))


def own(run: Run) -> list[str]:
    """Return the user's own file by its name, since records hold no path; `reproduce` checks its digest."""
    own = run.settings.own
    file = [] if own is None else [f"{own.file}:{own.functions}" if own.function else own.file]
    return [*file, *("FOLDER" for _ in run.settings.own_weights)]


def inputs(run: Run) -> list[tuple[str, str]]:
    own = run.settings.own
    if own is None or own.function:
        return []
    sizes = [(name, ",".join(map(str, sizes))) for name, sizes in own.given_sizes.items()]
    return sizes + [(given.name, f"{given.sha256[:12]}.npy") for given in own.inputs if given.sha256]


def by_profile(run: Run) -> bool:
    """Whether batches are of some models only: a profile takes them of itself, a scenario that is named takes all."""
    return bool(run.settings.batches) and set(run.settings.batches) != set(run.settings.models)


def batches(run: Run) -> Sequence[int]:
    parts = run.settings.batches, run.settings.training_batches, run.settings.decoding_batches
    batches = {sizes for part in parts for sizes in part.values()}
    # A size for every model differs by profile alone, which is named.
    return batches.pop() if len(batches) == 1 and not by_profile(run) else ()


def control(run: Run) -> str:
    if pair(run):
        return ""
    return next((arm.backend for arm in _arms(run).values() if arm.ordinal > 1), "none")


def injected(run: Run) -> list[tuple[str, str]]:
    return [(arm.inject, name) for name, arm in _arms(run).items() if arm.inject]


def loadgen(run: Run) -> LoadGen | None:
    tests = LoadGen(run.settings.latency_target_ms, run.settings.loadgen_test_s)
    return tests if any(tests) else None


def data(run: Run) -> list[str]:
    counts = {data.task: len(data.items) if len(data.items) < data.available else "all" for data in run.data_sets}
    return [f"{task}:{count}=PATH" for task, count in counts.items()]


def variant(run: Run) -> str:
    """Left to choose, a machine with a GPU would take it."""
    return "cpu" if run.settings.gpu is None else ""
