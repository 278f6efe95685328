"""Figures of the forms that a framework can be measured in: what to prepare fixed weights gains, and costs."""

from functools import cache, partial

import numpy as np

from suite.analysis.launch_levels import level_matrix
from suite.backends import registry
from suite.record.schema import Block, Run
from suite.statistics.arrays import Floats
from suite.statistics.ratios import RatioInterval, ratio_interval
from tests.figures import records
from tests.figures.checking import Figure
from tests.figures.records import FORMS, FORMS_AGAIN

METHOD = "docs/method.md"
MODELS = ("mlp", "resnet50", "bert")
PAIRS = {
    "torch+frozen=on": "torch",
    "torch+linear=onednn": "torch",
    "torch-compile": "torch-compile+frozen=off",
    "tensorflow": "tensorflow+frozen=off",
    "tensorflow-xla": "tensorflow-xla+frozen=off",
    "jax": "jax+frozen=off",
}
"""A form that prepares, and the same backend without."""
AGAIN = "tensorflow"
"""Measured again alone, since the first run did not separate its forms."""
MARGIN = 0.02
"""The other form has to be faster by more, in the geometric mean, to be the default."""


def _block(run: Run, model: str) -> Block:
    (block,) = [block for block in run.blocks if block.case.model == model]
    return block


def _difference(run: Run, prepared: str, model: str) -> Floats:
    """Return the difference of the logarithms of the two forms, one for each generation."""
    block = _block(run, model)
    names = [each.id for each in block.arms]
    levels = level_matrix(block)
    found: Floats = levels[:, names.index(prepared)] - levels[:, names.index(PAIRS[prepared])]
    return found


@cache
def ratio(name: str, prepared: str, model: str) -> RatioInterval:
    """Return the time of a prepared form over that of the other one, paired by generation."""
    found = _difference(records.run(name), prepared, model)
    return ratio_interval(found, np.zeros_like(found))


@cache
def mean(name: str, prepared: str) -> RatioInterval:
    """Return the geometric mean of the ratios over the models, each model's next generation beside one another."""
    found = [_difference(records.run(name), prepared, model) for model in MODELS]
    shortest = min(map(len, found))
    # All models have the same number of launches, and weigh the same: the mean of the means is the mean of the rows.
    averaged = np.mean([each[:shortest] for each in found], axis=0)
    return ratio_interval(averaged, np.zeros_like(averaged))


def _formatted(interval: RatioInterval) -> list[str]:
    return [f"{interval.ratio:.2f}", f"{interval.low:.2f}", f"{interval.high:.2f}"]


def _row(name: str, prepared: str) -> list[str]:
    found = [part for model in MODELS for part in _formatted(ratio(name, prepared, model))]
    return [*found, *_formatted(mean(name, prepared))]


def _load_s(prepared: str, model: str) -> list[str]:
    """Return how long both forms load in the first generation, and in the median of the others, in seconds."""
    found: list[str] = []
    for arm in (prepared, PAIRS[prepared]):
        loads = [
            launch.startup.load_ns / 1e9
            for generation in _block(records.run(FORMS), model).generations
            for launch in generation.launches
            if launch.arm == arm and launch.startup is not None
        ]
        found += [f"{loads[0]:.0f}", f"{np.median(loads[1:]):.0f}"]
    return found


def check_rule() -> None:
    """Hold the defaults against the rule of docs/method.md.

    Raises
    ------
    AssertionError
        A default is not what the rule and the record say.
    """
    for prepared, other in PAIRS.items():
        if prepared.startswith("torch+"):
            continue  # eager mode prepares nothing, as the rule says
        found = mean(FORMS_AGAIN if prepared == AGAIN else FORMS, prepared).ratio
        wanted = "on" if found < 1 / (1 - MARGIN) else "off"
        default = registry.get(other.partition("+")[0]).settings["frozen"][0]
        assert default == wanted, f"{prepared} takes {found:.3f} times what {other} takes."


_CELLS = " | ".join(["{} ({}–{})"] * (len(MODELS) + 1))
FIGURES = [
    *(
        Figure(METHOD, f"| `{prepared}` ÷ `{other}` | {_CELLS} |", partial(_row, FORMS, prepared))
        for prepared, other in PAIRS.items()
    ),
    Figure(METHOD, f"| the same pair again, alone | {_CELLS} |", partial(_row, FORMS_AGAIN, AGAIN)),
    Figure(
        METHOD,
        "`jax` loads BERT in {} s in the first launch and {} s in later ones, `jax+frozen=off` in {} and {} s",
        partial(_load_s, "jax", "bert"),
    ),
    Figure(
        METHOD,
        "`torch-compile` in {} and {} s, without freezing in {} and {} s",
        partial(_load_s, "torch-compile", "bert"),
    ),
]
