"""Verdicts on upgrades whose boots measure two arms: from synthetic runs whose truth is known."""

import json
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest
import scipy

from suite.compare.formats import WRITERS
from suite.compare.types import Comparison, Effect, Gate, Row, Verdict
from suite.errors import LevelfieldError
from suite.record.schema import Case, Parity, Run
from suite.statistics import bracket
from suite.statistics.bracket import Costs
from suite.upgrade.crossing import ARMS_SHARE, Question, effects
from suite.upgrade.verdict import Phases, judge
from tests.compare.runs import only, with_parity
from tests.upgrade.journals import begun
from tests.upgrade.samples import BOOTS, LOST, OLD_MACHINE, UPGRADED, Change, boots

CASE = Case("mlp", "latency", "fp32", 1, 2)
GATE = Gate()
ARMS = FIRST, SECOND = "onnxruntime", "openvino"


def crossed(
    arms: float = 1.0,
    together: float = 1.0,
    *,
    stack: float = 1.0,
    after: float = 1.0,
    new: dict[str, dict[str, str]] = UPGRADED,
    change: Change = lambda each: each,
    one_way: bool = False,
) -> Comparison:
    """Five boots a phase; the second arm costs `arms` times the first, and `together` times more on the new stack."""
    equal = _equal()

    def slower(on_stack: float, more: float) -> dict[str, float]:
        return {FIRST: on_stack, SECOND: on_stack * equal * arms * more}

    phases = Phases(
        boots("before", OLD_MACHINE, slower=slower(1.0, 1.0), backends=ARMS),
        boots("new", new, change, slower=slower(stack, together), backends=ARMS),
        [] if one_way else boots("after", OLD_MACHINE, slower=slower(1.0, after), backends=ARMS),
    )
    assert tuple(phases.before[0].arms) == ARMS
    return judge(begun(boots=BOOTS, one_way=one_way, crossed=True), phases)


def _equal() -> float:
    """Return by what the second arm is to be multiplied to cost what the first does."""
    runs = boots("before", OLD_MACHINE, backends=ARMS)
    (case,) = runs[0].cases
    costs = [[run.answers[arm, case].cost or 0 for run in runs] for arm in ARMS]
    return sum(costs[0]) / sum(costs[1])


def effect(found: Comparison, kind: Effect) -> Row:
    row: Row = only(each for each in found.crossed if each.effect == kind)
    return row


@pytest.mark.parametrize(
    ("arms", "stack", "together", "verdicts", "code"),
    [
        (1.0, 1.0, 1.0, (Verdict.SAME, Verdict.SAME), 0),
        (1.2, 1.0, 1.0, (Verdict.SLOWER, Verdict.SAME), 1),
        (0.8, 1.0, 1.0, (Verdict.FASTER, Verdict.SAME), 0),
        (1.0, 1.2, 1.0, (Verdict.SAME, Verdict.SAME), 1),
        (1.0, 1.0, 1.2, (Verdict.SLOWER, Verdict.LARGER_TOGETHER), 1),
        (1.2, 1.0, 0.8, (Verdict.SLOWER, Verdict.SMALLER_TOGETHER), 1),
    ],
)
def test_verdicts_are_those_of_the_truth(
    arms: float, stack: float, together: float, verdicts: tuple[Verdict, Verdict], code: int
) -> None:
    found = crossed(arms, together, stack=stack)
    main, both = effect(found, "arms"), effect(found, "interaction")
    assert (main.verdict, both.verdict) == verdicts
    assert main.ratio is not None
    assert main.ratio.value == pytest.approx(arms * together**0.5, rel=0.02)
    assert both.ratio is not None
    assert both.ratio.value == pytest.approx(together, rel=0.02)
    assert found.exit_code == code
    of_first = only(row for row in found.rows if row.new_arm == FIRST)
    assert of_first.verdict is (Verdict.SAFE if stack == 1 else Verdict.SLOWER)


def test_each_arm_has_the_stack_s_verdict_too() -> None:
    found = crossed(together=1.2)
    assert {row.new_arm: row.verdict for row in found.rows} == {FIRST: Verdict.SAFE, SECOND: Verdict.SLOWER}
    assert found.answer.startswith("Not safe: of 2 cases, 1 slower, 1 safe within 2")
    assert f"{SECOND} over {FIRST}: 1 slower; that ratio on the new stack over the old one: 1 larger" in found.answer
    assert "is 1.00 on the old stack and 1.20 on" in _rounded(effect(found, "interaction").reason)


def _rounded(reason: str) -> str:
    words = (f"{float(word):.2f}" if word[0].isdigit() else word for word in reason.split())
    return " ".join(words)


def test_a_ratio_that_drifts_gives_no_verdict_on_the_interaction() -> None:
    found = crossed(together=1.2, after=1.2)
    assert effect(found, "interaction").verdict is Verdict.DRIFTED
    assert effect(found, "interaction").drift is not None
    assert found.exit_code != 0


def test_what_a_boot_does_to_both_arms_is_no_effect_of_theirs() -> None:
    """The new stack is 20 % slower, and drifts: the arms and their interaction are the same all the same."""
    found = crossed(stack=1.2)
    assert {row.verdict for row in found.rows} == {Verdict.SLOWER}
    assert {row.verdict for row in found.crossed} == {Verdict.SAME}


def test_a_lost_setting_leaves_the_effect_of_the_arms_alone() -> None:
    found = crossed(1.2, 1.2, new=LOST)
    assert effect(found, "arms").verdict is Verdict.SLOWER
    assert effect(found, "interaction").verdict is Verdict.NOT_ATTRIBUTABLE


def test_answers_that_moved_make_no_effects() -> None:
    def moved(parity: Parity) -> Parity:
        return msgspec.structs.replace(
            parity, output_sha256="0" * 64, projection=tuple(1.001 * each for each in parity.projection)
        )

    found = crossed(change=lambda each: with_parity(each, SECOND, moved))
    assert {row.verdict for row in found.crossed} == {Verdict.MOVED}
    assert found.exit_code == 1


def test_smoke_runs_are_not_judged() -> None:
    def smoke(record: Run) -> Run:
        return msgspec.structs.replace(record, labels=("smoke",))

    found = crossed(1.2, change=smoke)
    assert {row.verdict for row in found.crossed} == {Verdict.UNDECIDED}
    assert found.exit_code == 3


def test_without_a_way_back_there_is_an_interaction_without_a_drift() -> None:
    found = crossed(together=1.2, one_way=True)
    assert effect(found, "interaction").verdict is Verdict.LARGER_TOGETHER
    assert effect(found, "interaction").drift is None


@pytest.mark.extended
def test_an_honest_machine_with_equal_arms_is_called_otherwise_in_one_percent_of_upgrades() -> None:
    """All that is judged of five cases: the stack in either arm, the interactions, and the arms."""
    rng = np.random.default_rng(11)
    trials, wrong = 600, 0
    for _ in range(trials):
        shared = rng.normal(0, 0.01, (9, 1, 1))
        costs = np.exp(shared + rng.normal(0, 0.005, (9, 2, 5)))
        asked = [
            Question(CASE, ARMS, *(tuple(map(tuple, costs[phase * 3 :][:3, :, case])) for phase in range(3)))  # type: ignore[arg-type]  # three phases
            for case in range(5)
        ]
        stacks = [
            Costs(*(tuple(costs[phase * 3 :][:3, arm, case]) for phase in range(3)))
            for arm in range(2)
            for case in range(5)
        ]
        found = bracket.judge([*stacks, *(each.ratios for each in asked)], level=(1 - ARMS_SHARE) * GATE.q)
        calm = {"safe", "same", "not decided"}
        said = {each.verdict.value for each in found} | {row.verdict.value for row in effects(asked, GATE)}
        wrong += bool(said - calm)
    assert wrong <= scipy.stats.binom.ppf(0.999, trials, GATE.q)


def test_runs_of_another_number_of_arms_are_refused() -> None:
    one = boots("before", OLD_MACHINE, backends=[FIRST])
    with pytest.raises(LevelfieldError, match="crosses two arms, and its run before-0 holds 1"):
        judge(begun(boots=BOOTS, crossed=True), Phases(one, one, one))


def test_ids_are_all_different() -> None:
    found = crossed()
    ids = [row.id for row in (*found.rows, *found.crossed)]
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "json"])
def test_every_format_shows_the_effects_after_the_cases(name: str) -> None:
    text = WRITERS[name](crossed(1.2, 1.2))
    assert 0 < text.rindex("onnxruntime") < len(text)
    assert text.index("larger together", 300) > text.index("slower", 300)
    assert "× stack" in text or "×stack" in text


def test_junit_and_json_hold_them_apart() -> None:
    found = crossed(1.2)
    root = ET.fromstring(WRITERS["junit"](found))
    suite = only(each for each in root if each.attrib["name"] == "arms against each other")
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    rows = json.loads(WRITERS["json"](found))["crossed"]
    assert [(row["effect"], row["verdict"]) for row in rows] == [("arms", "slower"), ("interaction", "same")]
