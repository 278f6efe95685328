"""Who answers otherwise to the last bit."""

from collections.abc import Callable

import msgspec
import pytest

from levelfield.analysis.summary import Reduced
from levelfield_fleet.groups import by_hardware
from levelfield_fleet.quorum import Verdicts, verdicts
from tests.fleet.fleets import Nodes, digest_of, fleet, flipped, with_digests, with_node

RIGHT = digest_of(fleet(1)["n00"][0], "jax")
OTHER = "a" * 64


def _judged(nodes: Nodes) -> Verdicts:
    (group,), _ = by_hardware(nodes)
    return verdicts(group)


def test_one_flipped_bit_in_one_output_of_one_node_of_sixteen_is_named_whichever_node_it_is() -> None:
    nodes = fleet(16, 1)
    for node in nodes:
        (wrong,) = _judged(with_node(nodes, node, with_digests("jax", flipped(RIGHT)))).wrong
        assert (wrong.node, wrong.arm, wrong.question) == (node, "jax", "mlp/fp32/b1/t2/cpu")
        assert (wrong.digest, wrong.majority, wrong.peers, wrong.of) == (flipped(RIGHT), RIGHT, 15, 15)


@pytest.mark.parametrize(
    ("nodes", "digests", "wrong", "agreed"),
    [
        (4, {}, [], 2),
        (2, {"n00": [OTHER]}, [], 0),
        (3, {"n00": [OTHER]}, ["n00"], 2),
        (4, {"n00": [OTHER], "n01": [OTHER]}, [], 1),
        (5, {"n00": ["0" * 64], "n01": ["1" * 64]}, ["n00", "n01"], 2),
        (5, {f"n0{number}": [OTHER, f"{number}" * 64] for number in range(5)}, [], 1),
    ],
    ids=["alike", "two", "three", "half", "two of five", "all vary"],
)  # fmt: skip
def test_more_than_half_of_three_or_more_are_a_majority(
    nodes: int, digests: dict[str, list[str]], wrong: list[str], agreed: int
) -> None:
    made = fleet(nodes)
    for node, own in digests.items():
        made = with_node(made, node, with_digests("jax", *own))
    found = _judged(made)
    assert [one.node for one in found.wrong] == wrong
    assert found.agreed == agreed
    assert found.open == (("jax/mlp/fp32/b1/t2/cpu",) if agreed == 1 else ())
    assert not found.varying


def test_a_fleet_of_two_camps_or_of_as_many_images_is_not_passed_over() -> None:
    made = fleet(4)
    for node in ("n00", "n01"):
        made = with_node(made, node, with_digests("jax", OTHER))
    assert _judged(made).split == ("jax/mlp/fp32/b1/t2/cpu",)
    for node in made:
        made = with_node(made, node, lambda run, node=node: msgspec.structs.replace(  # type: ignore[misc]
            run, images=tuple(msgspec.structs.replace(each, layers=(node,)) for each in run.images)
        ))  # fmt: skip
    found = _judged(made)
    assert (found.agreed, len(found.open), found.split) == (0, 2, ())


def test_a_node_that_alone_varies_is_told_and_not_named_wrong() -> None:
    found = _judged(with_node(fleet(5), "n02", with_digests("jax", RIGHT, OTHER)))
    assert not found.wrong
    (varying,) = found.varying
    assert (varying.node, varying.outputs, varying.peers) == ("n02", 2, 4)


def _other_image(one: Reduced) -> Reduced:
    images = tuple(msgspec.structs.replace(image, layers=("sha256:other",)) for image in one.images)
    return msgspec.structs.replace(one, images=images)


def _other_weights(one: Reduced) -> Reduced:
    answers = {key: msgspec.structs.replace(answer, weights=frozenset({"w"})) for key, answer in one.answers.items()}
    return msgspec.structs.replace(one, answers=answers)


@pytest.mark.parametrize("change", [_other_image, _other_weights])
def test_another_image_or_other_weights_are_not_compared(change: Callable[[Reduced], Reduced]) -> None:
    wrong = with_node(fleet(5), "n02", with_digests("jax", OTHER))
    assert _judged(wrong).wrong
    assert not _judged(with_node(wrong, "n02", change)).wrong
