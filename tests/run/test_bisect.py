"""What a bisection makes of measured ratios, and of arms that cannot be bisected."""

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from levelfield.analysis.types import Estimate
from levelfield.compare.types import Gate, Row, Verdict
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make
from levelfield.record.schema import Case
from levelfield.run.ab import AbResult
from levelfield.run.bisect import Bisection, _only, clearest, conclusion, effect_of, run_bisection
from levelfield.run.delta_debugging import Effect, Finding, Tried
from levelfield.run.options import Options
from levelfield.scenarios import ScenarioName
from tests.compare.pairs import run
from tests.compare.test_ab import judged

OPTIONS = Options(selection=Selection(), reports=Path("nowhere"))


def row(low: float, value: float, high: float, verdict: Verdict = Verdict.SLOWER, model: str = "mlp") -> Row:
    return Row(
        case=Case(model, "latency", "fp32", 1, 2),
        metric="latency",
        old_arm="a",
        new_arm="b",
        verdict=verdict,
        outcome="worse",
        ratio=Estimate(value, low, high),
    )


@pytest.mark.parametrize(("scenario", "batch"), [("throughput", 1), ("throughput", 8), ("training", 4), ("latency", 1)])
def test_the_case_that_is_followed_is_measured_alone(scenario: ScenarioName, batch: int) -> None:
    """As it was measured: in a run of before, throughput may be of one item."""
    case = Case("mlp", scenario, "fp32", batch, 1)
    typed = msgspec.structs.replace(OPTIONS, selection=Selection(models=("bert", "mlp"), batches=(2, 4, 8)))
    made = make(_only(typed, msgspec.structs.replace(row(0.9, 1.0, 1.1), case=case)).selection, available=[0, 1])
    assert [block.case for block in made.blocks] == [case]


@pytest.mark.parametrize(
    ("overall", "found", "effect"),
    [
        (1.2, row(1.18, 1.2, 1.22), Effect.MAKES),
        (1.2, row(1.10, 1.15, 1.2), Effect.MAKES),
        (1.2, row(0.99, 1.0, 1.01), Effect.LEAVES),
        (1.2, row(0.7, 0.75, 0.8), Effect.LEAVES),
        (1.2, row(1.0, 1.1, 1.2), Effect.UNDECIDED),
        (0.8, row(0.79, 0.8, 0.81), Effect.MAKES),
        (0.8, row(0.99, 1.0, 1.01), Effect.LEAVES),
        (0.8, row(1.1, 1.2, 1.3), Effect.LEAVES),
        (0.8, row(0.8, 0.9, 1.0), Effect.UNDECIDED),
    ],
)
def test_more_than_half_of_the_difference_is_the_difference(overall: float, found: Row, effect: Effect) -> None:
    import math

    assert effect_of(found, math.log(overall)) is effect


def test_a_ratio_without_an_interval_says_nothing() -> None:
    (found,) = judged(run(2.0, generations=3, models=("mlp",), scenarios=("latency",))).rows
    assert effect_of(found, 0.5) is Effect.UNDECIDED


def test_the_clearest_case_is_followed() -> None:
    wide, narrow = row(1.05, 1.3, 1.6), row(1.09, 1.1, 1.11, model="bert")
    noise = row(0.5, 1.5, 2.5, Verdict.INCONCLUSIVE)
    assert clearest((wide, noise, narrow)) == narrow
    assert clearest((noise,)) is None


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("onnxruntime", "openvino", "differ in more than their locks"),
        ("onnxruntime@1.30.0+spinning=off", "onnxruntime", "differ in more than their locks"),
        ("onnxruntime", "onnxruntime", "hold the same distributions"),
    ],
)
def test_what_cannot_be_bisected_is_refused_before_anything_is_measured(first: str, second: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        run_bisection(first, second, OPTIONS, Gate(), Console(quiet=True))


@pytest.mark.parametrize(
    ("finding", "says"),
    [
        (None, "nothing to search for"),
        (Finding(("numpy",), None, ()), "numpy makes the difference in mlp/latency/fp32/b1/t2/cpu: it is all that"),
        (Finding(("numpy",), Effect.LEAVES, ()), "the other changes together make none"),
        (Finding(("numpy",), Effect.MAKES, ()), "so do the other changes without it"),
        (Finding(("a", "b"), Effect.LEAVES, ()), "No single distribution was shown to make the difference"),
        (
            Finding(("a", "b"), None, (Tried(("a",), Effect.IMPOSSIBLE), Tried(("b",), Effect.UNDECIDED))),
            "some of these cannot be installed without the others; some sets could not be told apart",
        ),
    ],
)
def test_the_conclusion_is_a_sentence(finding: Finding | None, says: str) -> None:
    record = run(1.2, models=("mlp",), scenarios=("latency",))
    overall = AbResult(folder=Path(), record=Path(), run=record, comparison=judged(record))
    case = None if finding is None else overall.comparison.rows[0]
    text = conclusion(Bisection(overall=overall, case=case, finding=finding))
    assert says in text
    assert text.endswith(".")
