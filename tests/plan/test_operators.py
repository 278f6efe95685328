"""Single operators are measured where they are named, and share their launches."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make
from levelfield.schedule.launch_groups import remaining_passes
from levelfield.zoo import models
from levelfield.zoo.operators import parts

CPUS = (0, 1)
ONE = "gemm-35x700x2048"


def test_the_scenario_is_of_all_operators_and_no_network() -> None:
    made = make(Selection(scenarios=("operators",)), available=CPUS)
    assert [block.case.model for block in made.blocks] == list(models.operators())
    assert {block.case.scenario for block in made.blocks} == {"operators"}


def test_the_same_launches_answer_all_of_them() -> None:
    made = make(Selection("smoke", scenarios=("operators",)), available=CPUS)
    groups = [group for each in remaining_passes(made.blocks) for group in each.groups]
    assert [len(group) for group in groups] == [len(models.operators())] * 2


def test_one_that_is_named_is_measured_so() -> None:
    (block,) = make(Selection(models=(ONE,)), available=CPUS).blocks
    assert block.case.id == f"{ONE}/operators/fp32/b1/t2/cpu"


def test_beside_networks_each_has_its_scenarios() -> None:
    made = make(Selection("smoke", models=("mlp", ONE), scenarios=("latency", "operators")), available=CPUS)
    assert [block.case.id for block in made.blocks] == [
        "mlp/latency/fp32/b1/t2/cpu",
        f"{ONE}/operators/fp32/b1/t2/cpu",
    ]


def test_beside_a_network_its_own_are_measured_where_none_is_named() -> None:
    made = make(Selection("smoke", models=("bert",), scenarios=("latency", "operators")), available=CPUS)
    of_bert = set(parts.of("bert", models.operators()))
    assert {block.case.model for block in made.blocks} == {"bert", *of_bert}
    assert [block.case.scenario for block in made.blocks] == ["latency", *["operators"] * len(of_bert)]
    alone = make(Selection("smoke", models=("bert", "mlp"), scenarios=("operators",)), available=CPUS)
    assert {block.case.model for block in alone.blocks} == of_bert


def test_no_default_run_measures_them() -> None:
    for profile in ("smoke", "standard", "full"):
        assert not [block for block in make(Selection(profile), available=CPUS).blocks if block.case.model == ONE]


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(models=("gemm-35x700",)), "There is no model called 'gemm-35x700'"),
        (Selection(models=(ONE,), precisions=("bf16",)), "operators is measured in fp32 alone"),
        (Selection(models=(ONE,), scenarios=("latency",)), f"{ONE} is a single operator"),
        (Selection(models=("mlp", ONE), scenarios=("latency",)), f"{ONE} is a single operator"),
        (Selection(scenarios=("latency", "operators"), precisions=("bf16",)), "operators is measured in fp32 alone"),
        (Selection(models=(ONE,), scenarios=("training",)), "cannot be trained"),
        (Selection(models=("mlp",), scenarios=("operators",)), "mlp: no operator here has the shape of a layer of it"),
    ],
)
def test_what_cannot_be_is_refused(selection: Selection, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        make(selection, available=CPUS)
