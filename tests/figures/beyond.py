"""Figures of what no default run measures: the decoder, token by token, and Keras beside its engines."""

from functools import partial

from suite.analysis.types import Estimate, TimedBlock
from suite.backends import registry
from suite.zoo import models
from tests.figures import prints, records
from tests.figures.checking import Figure

MODELS = "docs/models.md"
DECODER = "20261125-202352-standard-4444"
KERAS = "20261125-204614-standard-1627"
KERAS_TRAINING = "20261126-130503-standard-395e"
OPERATORS = "20261126-064831-smoke-f6a6"


def _block(run: str, scenario: str) -> TimedBlock:
    (block,) = (each for each in records.analysis(run).timed if each.case.scenario == scenario)
    return block


def _cells(found: Estimate | None, scale: float) -> list[str]:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return [prints.significant(each / scale) for each in (found.value, found.low, found.high)]


def _decoder(backend: str) -> list[object]:
    """Return one backend's prefill and decode in milliseconds, and its tokens a second."""
    cells: list[object] = []
    for scenario in ("prefill", "decode", "generate"):
        block = _block(DECODER, scenario)
        (row,) = (each for each in block.rows if each.arm == backend)
        assert row.is_equal
        cells += _cells(row.compared(block.case), 1e6 if scenario != "generate" else 1.0)
    return cells


def _share_of_bandwidth() -> list[object]:
    """Return what the fastest backend reads of the memory bandwidth that NumPy measured, in percent."""
    (use,) = (each for each in records.analysis(DECODER).insights.resources if each.case.scenario == "decode")
    best = max(use.uses, key=lambda each: each.memory_share.value if each.memory_share is not None else 0.0)
    assert best.arm == "onnxruntime"
    assert best.memory_share is not None
    return [f"{100 * best.memory_share.value:.0f}"]


def _keras(run: str, arm: str, against: str) -> list[object]:
    """Return one wrapper's cost on each model of a run."""
    found = {
        each.case.model: each.ratio
        for each in records.analysis(run).insights.wrappers
        if (each.arm, each.against) == (arm, against)
    }
    return [cell for model in ("mlp", "resnet50", "bert") if model in found for cell in _cells(found[model], 1.0)]


def _operators() -> list[object]:
    """Return how long the run of all operators took, and check that it has all of them, each answer equal."""
    run = records.run(OPERATORS)
    assert {block.case.model for block in run.blocks} == set(models.operators())
    for block in run.blocks:
        launches = [launch for each in block.generations for launch in each.launches if launch.arm != block.canary]
        assert {launch.arm for launch in launches} == set(registry.names())
        assert all(launch.parity is not None and launch.parity.equal for launch in launches)
    assert run.time_spent_s is not None
    minutes, seconds = divmod(round(sum(run.time_spent_s.values())), 60)
    return [minutes, seconds]


_THREE = " | ".join(["{} ({}–{})"] * 3)
FIGURES = [
    *(Figure(MODELS, f"| `{name}` | {_THREE} |", partial(_decoder, name)) for name in registry.names()),
    Figure(MODELS, "in one smoke run of {} min {} s", _operators),
    Figure(MODELS, "ONNX Runtime reads them at {} % of the memory bandwidth", _share_of_bandwidth),
    *(
        Figure(
            MODELS,
            f"| `{arm}` ÷ `{engine}` | {cells} |",
            partial(_keras, run, arm, engine),
        )
        for run, cells in ((KERAS, _THREE), (KERAS_TRAINING, "{} ({}–{})"))
        for arm, engine in ((name, registry.get(name).wraps) for name in registry.names_where_named())
        if arm.startswith("keras-")
    ),
]
