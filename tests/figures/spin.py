"""Figures of the spin trial: how often a first timed call is slow, by the arm before it."""

from functools import cache, partial

from studies.record import read
from studies.spin.findings import SLOW, verdicts
from studies.spin.record import Rule, Trial, Verdict
from suite.statistics.proportions import Proportion
from tests.figures import prints
from tests.figures.checking import Figure
from tests.figures.records import SPIN, TRIALS

METHOD = "docs/method.md"
MODELS = {"resnet50": "ResNet-50", "mlp": "MLP"}
RULES: dict[Rule, str] = {"fixed 40 ms": "fixed time", "until still": "until all stand still"}


@cache
def _verdicts() -> dict[tuple[str, Rule], Verdict]:
    """Judge the windows of the record again."""
    return {(each.model, each.rule): each for each in verdicts(read(TRIALS / f"{SPIN}.json", Trial).cells)}


def _with_share(found: Proportion) -> str:
    return f"{prints.of(found)} ({prints.share(found)} %)"


def _row(model: str, rule: Rule) -> list[object]:
    verdict = _verdicts()[model, rule]
    return [_with_share(verdict.after_spinning), _with_share(verdict.after_canary)]


def check_until_still() -> None:
    """Hold that no arm's threads reach the next one's first call, by the rule that is in use.

    Raises
    ------
    AssertionError
        After ONNX Runtime it is slow more often than the upper end of the canary's interval.
    """
    for model in MODELS:
        assert _verdicts()[model, "until still"].holds, model


FIGURES = [
    Figure(METHOD, "took more than {} times the median", lambda: [f"{SLOW:g}"]),
    *(
        Figure(METHOD, f"| {title}, {words} | {{}} | {{}} |", partial(_row, model, rule))
        for model, title in MODELS.items()
        for rule, words in RULES.items()
    ),
]
