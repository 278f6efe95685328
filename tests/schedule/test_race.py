"""Which arms of a race are launched next."""

import msgspec
import pytest

from suite.analysis.race import Race
from suite.record.schema import Arm, Block, Case, Generation, Launch, Round
from suite.schedule.race import next_group, seconds_for

ARMS = tuple(Arm(backend=name, image=name) for name in ("a", "b", "c"))


def block(model: str, generations: int) -> Block:
    launches = tuple(Launch(arm=arm.id, started="") for arm in ARMS)
    return Block(
        case=Case(model, "latency", "fp32", 1, 2),
        arms=ARMS,
        planned_generations=5,
        generations=tuple(
            Generation(index, 0, launches=launches, rounds=(Round(index=0, turns=(), disturbed=""),), complete=True)
            for index in range(generations)
        ),
    )


OPEN = Race(arms=("a", "b"), leaving=(), half_width=0.1, settled=False)
SETTLED = msgspec.structs.replace(OPEN, settled=True)
MLP, BERT = block("mlp", 5), block("bert", 5)
NAMES = [each.case.id for each in (MLP, BERT)]


def test_the_interval_that_narrows_most_for_its_time_comes_first() -> None:
    races = dict.fromkeys(NAMES, OPEN)
    ((first, index),) = next_group([MLP, BERT], races, dict(zip(NAMES, (2.0, 9.0), strict=True)), 100.0)
    assert (first.case, index) == (MLP.case, 5)
    ((later, index),) = next_group([block("mlp", 40), BERT], races, dict(zip(NAMES, (2.0, 9.0), strict=True)), 100.0)
    assert (later.case, index) == (BERT.case, 5)


def test_a_case_whose_generations_were_disturbed_comes_first() -> None:
    disturbed = tuple(
        msgspec.structs.replace(each, rounds=(Round(index=0, turns=(), disturbed="busy"),)) for each in BERT.generations
    )
    busy = msgspec.structs.replace(BERT, generations=disturbed)
    ((first, _),) = next_group(
        [MLP, busy], dict.fromkeys(NAMES, OPEN), dict(zip(NAMES, (2.0, 9.0), strict=True)), 100.0
    )
    assert first.case == BERT.case


def test_only_those_that_race_are_launched() -> None:
    ((first, _),) = next_group([MLP], {NAMES[0]: OPEN}, {NAMES[0]: 2.0}, 100.0)
    assert [arm.id for arm in first.arms] == ["a", "b"]


def test_settled_races_and_spent_time_end_it() -> None:
    seconds = dict.fromkeys(NAMES, 6.0)
    assert next_group([MLP, BERT], dict.fromkeys(NAMES, SETTLED), seconds, 100.0) == []
    assert next_group([MLP, BERT], dict.fromkeys(NAMES, OPEN), seconds, 3.9) == [], "two of three arms take 4 s"
    assert next_group([MLP, BERT], dict.fromkeys(NAMES, OPEN), seconds, 4.1)
    assert next_group([MLP], {NAMES[0]: msgspec.structs.replace(OPEN, arms=())}, seconds, 100.0) == []


def test_cases_of_one_model_share_their_launches() -> None:
    other = msgspec.structs.replace(MLP, case=msgspec.structs.replace(MLP.case, scenario="throughput", batch=8))
    races = {MLP.case.id: OPEN, other.case.id: OPEN}
    assert len(next_group([MLP, other], races, {}, 100.0)) == 2


@pytest.mark.parametrize(
    ("first_pass_s", "budget_s", "expected_s"),
    [(200.0, None, 390.0), (1000.0, None, 1250.0), (20.0, None, 60.0), (200.0, 60.0, 60.0)],
)
def test_how_long_races_may_last(first_pass_s: float, budget_s: float | None, expected_s: float) -> None:
    assert seconds_for(390.0, first_pass_s, budget_s) == expected_s
