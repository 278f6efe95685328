"""Figures that rest on committed runs: the example reports, and the trainings to a target accuracy."""

import itertools
import math
from functools import partial

import numpy as np

from suite.report import sentences
from suite.zoo.mlp.spec import DIGITS_WIDTHS
from suite.zoo.training import convergence
from tests.figures import prints, records
from tests.figures.checking import Figure
from tests.figures.records import CONVERGENCE, DEFAULT, EXAMPLE

README, METHOD, TRAINING = "README.md", "docs/method.md", "docs/training.md"


def _cores(name: str) -> object:
    return records.run(name).machine["cpu"]["cores"]


def _lasted(name: str) -> str:
    run = records.run(name)
    assert run.finished is not None
    return prints.in_words(prints.minutes(run.started, run.finished))


def _verdict() -> list[object]:
    """Return the report's own sentence on ResNet-50's latency."""
    blocks = [block for block in records.analysis(DEFAULT).timed if block.case.scenario == "latency"]
    block = next(each for each in blocks if each.case.model == "resnet50")
    return [sentences.verdict(block, blocks)]


def _seeds() -> str:
    (count,) = {row.seeds_reached for model in ("mlp", "resnet50") for row in records.trainings(model).values()}
    return prints.in_words(count)


def _training(arm: str) -> list[object]:
    found: list[object] = []
    for model in ("mlp", "resnet50"):
        row = records.trainings(model)[arm]
        assert row.time_ns is not None
        assert row.steps is not None
        assert row.load_ns is not None
        value, low, high = prints.milliseconds(row.time_ns)
        found += [value, f"{low}–{high}", round(row.steps.value), prints.significant(row.load_ns / 1e9, 2)]
    return found


def _first(model: str, arm: str) -> bool:
    """Whether an arm's time is the shortest: the table shows it in bold."""
    times = {name: row.time_ns.value for name, row in records.trainings(model).items() if row.time_ns is not None}
    return arm == min(times, key=lambda name: times[name])


def _row(arm: str) -> Figure:
    times = ["**{} ms**" if _first(model, arm) else "{} ms" for model in ("mlp", "resnet50")]
    return Figure(
        TRAINING,
        f"| {arm} | {times[0]} ({{}}) | {{}} | {{}} s | {times[1]} ({{}}) | {{}} | {{}} s |",
        partial(_training, arm),
    )


def _target() -> str:
    (target,) = {goal.target for goal in convergence.GOALS.values()}
    return f"{100 * target:g}"


def _steps_of_seeds() -> list[object]:
    """Return the fewest and the most steps of any seed, once it is sure that all arms took the same."""
    taken = {
        tuple(curve.reached.step for curve in row.curves if curve.reached is not None)
        for row in records.trainings("mlp").values()
    }
    (steps,) = taken
    return [min(steps), max(steps)]


def _step_of_mlp() -> list[object]:
    """Return a batch, the MFLOP of one of its steps (forward and twice that back), and how long NumPy would take."""
    goal = convergence.GOALS["mlp"]
    macs = sum(math.prod(pair) for pair in itertools.pairwise(DIGITS_WIDTHS))
    flop = 3 * 2 * goal.batch * macs
    found = records.run(CONVERGENCE).roofline
    assert isinstance(found, tuple)
    rate = 2 * found[0].gemm_size ** 3 / float(np.median(found[0].gemm_ns))
    return [goal.batch, f"{flop / 1e6:.1f}", round(flop / rate / 1e3)]


def _steps_ms(model: str, *arms: str) -> list[object]:
    """Return the time of a step of each arm in milliseconds, two digits."""
    return [prints.significant((records.trainings(model)[arm].step_ns or math.nan) / 1e6, 2) for arm in arms]


def _gains_of_two() -> list[object]:
    """Return the least and the most that batches of two gave over one item at a time, in percent."""
    rates = {
        (block.case.model, block.case.scenario, block.case.batch, row.arm): row.items_per_second.value
        for block in records.analysis(EXAMPLE).timed
        for row in block.rows
        if row.items_per_second is not None
    }
    gains = [
        rate / rates[model, "latency", 1, arm] - 1
        for (model, scenario, batch, arm), rate in rates.items()
        if (scenario, batch) == ("throughput", 2)
    ]
    assert len(gains) == 14, "two models, seven backends"
    return [f"{100 * min(gains):.0f}", f"{100 * max(gains):.0f}"]


FIGURES = [
    Figure(METHOD, "ResNet-50 and BERT gave {}–{} % more items a second than one at a time", _gains_of_two),
    Figure(
        README,
        "`make bench` on a shared {}-core virtual machine, {} minutes,",
        lambda: [_cores(DEFAULT), _lasted(DEFAULT)],
    ),
    Figure(README, "measures for some {} minutes on two cores", lambda: [_lasted(DEFAULT)]),
    *(Figure(page, "> {}", _verdict) for page in (README, "docs/verdicts.md")),
    Figure(
        TRAINING,
        "On a shared {}-core virtual machine, in {} minutes, images there, {} seeds (`levelfield",
        lambda: [_cores(CONVERGENCE), _lasted(CONVERGENCE), _seeds()],
    ),
    *(_row(arm) for arm in ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax")),
    Figure(METHOD, "What came out, {} seeds on two cores", lambda: [_seeds()]),
    Figure(METHOD, "took the same steps on the MLP, seed by seed ({} to {})", _steps_of_seeds),
    Figure(METHOD, "A step of the MLP ({} images) computes {} MFLOP, some {} µs at the rate", _step_of_mlp),
    Figure(METHOD, "lasts {} ms in jax", lambda: _steps_ms("mlp", "jax")),
    Figure(METHOD, "{} to {} ms in torch, where", lambda: _steps_ms("mlp", "torch-compile", "torch")),
    Figure(METHOD, "{} to {} ms in TensorFlow, whose", lambda: _steps_ms("mlp", "tensorflow-xla", "tensorflow")),
    Figure(
        METHOD,
        "{} ms compiled by inductor and {} ms in torch (oneDNN's convolutions), {} to {} ms by XLA in jax and "
        "TensorFlow, {} ms in TensorFlow without it",
        lambda: _steps_ms("resnet50", "torch-compile", "torch", "jax", "tensorflow-xla", "tensorflow"),
    ),
    *(
        Figure(page, text, lambda: [_target()])
        for page, text in (
            (TRAINING, "until they classify {} % of the test images correctly"),
            (METHOD, "{} % of the test images classified correctly"),
            ("docs/reading-a-report.md", "until {} % of the test images are classified correctly"),
        )
    ),
]
