"""Two arms against each other."""

import pytest

from suite.plan import Selection, pair

CPUS = (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("first", "second", "ids"),
    [
        ("onnxruntime@1.30.0", "onnxruntime", ("onnxruntime@1.30.0", "onnxruntime")),
        ("onnxruntime", "onnxruntime", ("onnxruntime", "onnxruntime#2")),
        ("jax", "openvino+hint=throughput", ("jax", "openvino+hint=throughput")),
    ],
)
def test_a_pair_is_two_arms_in_every_block(first: str, second: str, ids: tuple[str, str]) -> None:
    made = pair(Selection(), first, second, available=CPUS)
    assert len(made.blocks) == 10
    for block in made.blocks:
        assert tuple(arm.id for arm in block.arms) == ids
        assert block.planned_generations == made.profile.generations, "cold starts are to be decided, too"
    slowed = pair(Selection(inject=("5%", ids[1])), first, second, available=CPUS)
    assert slowed.injected == (ids[1],)
