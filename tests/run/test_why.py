"""Which cases of an `ab` are explained, and what is said of the others."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelfield.backends.profiling.operators import Operator
from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Gate
from levelfield.record import files
from levelfield.record.schema import Arm, Run
from levelfield.run import why
from levelfield.run.ab import AbResult
from levelfield.run.options import Options
from levelfield.run.why import Change, Difference, compare_profiles
from levelfield.worker.messages import Profiled
from tests.compare.pairs import A, B, run
from tests.report.plain import printed
from tests.statistics.rates import check_rate


def result(made: Run, folder: Path) -> AbResult:
    record = files.write(made, folder)
    return AbResult(folder, record, made, compare_arms(made, Gate(), hashlib.sha256(record.read_bytes()).hexdigest()))


def pair(factor: float, **options: Any) -> Run:
    known: dict[str, Any] = {"models": ("mlp", "resnet50"), "scenarios": ("latency", "memory"), "generations": 8}
    return run(factor, **known | options)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (pair(1.0, spread=0.05), "No case differs in time"),
        (pair(1.3, second=Arm("openvino", "openvino")), "onnxruntime and openvino have no names in common"),
        (pair(1.3, second=Arm("onnxruntime", "onnxruntime", ordinal=2, inject="30%")), "slowed down on purpose"),
        (pair(1.3, scenarios=("cold-start",)), "no such case differs"),
    ],
    ids=["same", "other framework", "injected", "cold start"],
)
def test_what_cannot_be_explained_is_one_sentence_and_launches_nothing(made: Run, reason: str, tmp_path: Path) -> None:
    found: list[Difference] = []
    assert reason in printed(lambda console: found.extend(why.explain(result(made, tmp_path), Options(), console)))
    assert not found
    assert not (tmp_path / why.NAME).exists()


def test_what_differs_is_named_and_hostile_names_are_only_text(tmp_path: Path) -> None:
    moved = Change("Gelu[red]\x1b[2J", 10.0, 13.0, 3.0, 2.0, 4.0, differs=True)
    still = Change("MatMul", 50.0, 50.1, 0.1, -0.3, 0.5, differs=False)
    call = Change("the whole call", 60.0, 64.0, 4.0, 3.0, 5.0, differs=True)
    found = Difference("bert/latency", A.id, B.id, 8, call, (moved, still), 1.2, "a profiler")
    text = printed(partial(why.show, [found], result(pair(1.3), tmp_path)))
    assert "What differs: Gelu[red]" in text
    assert "\x1b" not in text
    assert "+3 (+2 to +4)" in text
    assert "account for 78% of the call's difference" in text
    assert why.NAME in text
    nothing = Difference("bert/latency", A.id, B.id, 8, call, (still,), 1.2, "a profiler")
    assert why.sentence(nothing).startswith("No kind of operator was shown to differ.")


CALLS = 10
TRUE_NS = {"MatMul": 50e6, "Gelu": 10e6, "Softmax": 3e6, "Add": 1e6}


def profile(times_ns: dict[str, float], rng: np.random.Generator, *, noise: float = 0.01) -> Profiled:
    """A launch in which each kind takes its time times a launch's own factor."""
    drawn = {kind: value * float(np.exp(noise * rng.standard_normal())) for kind, value in times_ns.items()}
    call = round(1.05 * sum(drawn.values()))
    operators = tuple(Operator(kind, "", CALLS, value) for kind, value in drawn.items())
    return Profiled("a profiler", operators, (call,) * CALLS, (round(1.2 * call),) * CALLS, "")


def compared(new: dict[str, float], seed: int, *, launches: int = 7) -> Difference:
    rng = np.random.default_rng(seed)
    pairs = [(profile(TRUE_NS, rng), profile(TRUE_NS | new, rng)) for _ in range(launches)]
    return compare_profiles("bert/latency", "old", "new", pairs)


@pytest.mark.extended
def test_equal_arms_have_an_operator_that_differs_in_few_comparisons() -> None:
    """At a false discovery rate of 1 %, equal arms may show a difference in 1 % of comparisons."""
    wrong = sum(any(each.differs for each in compared({}, seed).operators) for seed in range(3000))
    check_rate(wrong, 3000, 0.01)
