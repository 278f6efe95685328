"""Which arms of a race are launched next."""

import msgspec
import pytest

from suite.analysis.race import Race
from suite.record.schema import Arm, Block, Case, Generation, Launch, Round, Startup
from suite.schedule.race import LONGEST_PAUSE, cost, launch_seconds, next_group, pause, seconds_for

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


def loading(model: str, generations: int, seconds: dict[str, float]) -> Block:
    """Return a block whose launches took so long to load, by arm; windows took no time."""
    made = block(model, generations)
    return msgspec.structs.replace(
        made,
        generations=tuple(
            msgspec.structs.replace(
                each,
                launches=tuple(
                    msgspec.structs.replace(
                        launch,
                        startup=Startup(start_ns=0, import_ns=0, weights_ns=0, load_ns=int(seconds[launch.arm] * 1e9)),
                    )
                    for launch in each.launches
                ),
            )
            for each in made.generations
        ),
    )


def test_an_expensive_arm_is_launched_less_often_whatever_it_showed() -> None:
    everyone = msgspec.structs.replace(OPEN, arms=("a", "b", "c"))
    launched = []
    for generations in range(5, 5 + 2 * LONGEST_PAUSE):
        each = loading("mlp", generations, {"a": 0.5, "b": 0.5, "c": 8.0})
        ((first, _),) = next_group([each], {NAMES[0]: everyone}, {NAMES[0]: 5.0}, 100.0)
        launched.append([arm.id for arm in first.arms])
    assert launched == [*[["a", "b"]] * 3, ["a", "b", "c"]] * 2


def test_an_arm_that_is_probably_third_is_launched_less_often() -> None:
    everyone = msgspec.structs.replace(OPEN, arms=("a", "b", "c"), unlikely=frozenset({"a"}))
    groups = [
        next_group([loading("mlp", count, dict.fromkeys("abc", 1.0))], {NAMES[0]: everyone}, {NAMES[0]: 5.0}, 100.0)
        for count in (5, 8)
    ]
    assert [[arm.id for arm in group[0][0].arms] for group in groups] == [["b", "c"], ["a", "b", "c"]]


@pytest.mark.parametrize(("cost_s", "expected"), [(0.1, 1), (1.0, 1), (2.0, 1), (4.0, 2), (9.0, 3), (1000.0, 4)])
def test_pauses_grow_with_the_square_root_of_the_cost(cost_s: float, expected: int) -> None:
    assert pause(cost_s, 1.0) == expected


def test_a_generation_costs_its_own_loads_and_its_share_of_the_rest() -> None:
    made = loading("mlp", 5, {"a": 1.0, "b": 3.0, "c": 8.0})
    launch_s = launch_seconds([made])
    assert launch_s == {"a": 1.0, "b": 3.0, "c": 8.0}
    few = msgspec.structs.replace(made, arms=ARMS[:2])
    assert cost([made], launch_s, {NAMES[0]: 14.0}) == pytest.approx(14.0)
    assert cost([few], launch_s, {NAMES[0]: 14.0}) == pytest.approx(3.0 + 6.0 * 2 / 3), "two load at a time"


def test_a_case_that_was_served_by_others_pays_for_its_own_launch_alone() -> None:
    first = loading("mlp", 5, {"a": 2.0, "b": 2.0, "c": 2.0})
    case = msgspec.structs.replace(MLP.case, scenario="throughput", batch=8)
    served = tuple(
        msgspec.structs.replace(
            each,
            launches=tuple(msgspec.structs.replace(launch, served=(first.case.id,)) for launch in each.launches),
        )
        for each in block("mlp", 5).generations
    )
    other = msgspec.structs.replace(MLP, case=case, generations=served)
    launch_s = launch_seconds([first, other])
    seconds = {first.case.id: 4.0, case.id: 1.5}
    assert cost([other], launch_s, seconds) == pytest.approx(3.0 + 1.5)
    assert cost([first, other], launch_s, seconds) == pytest.approx(3.0 + 1.0 + 1.5)


@pytest.mark.parametrize(
    ("first_pass_s", "budget_s", "expected_s"),
    [(200.0, None, 390.0), (1000.0, None, 1200.0), (20.0, None, 60.0), (200.0, 60.0, 60.0)],
)
def test_how_long_races_may_last(first_pass_s: float, budget_s: float | None, expected_s: float) -> None:
    assert seconds_for(390.0, first_pass_s, budget_s) == expected_s
