"""Who answers otherwise to the last bit."""

import msgspec

from levelfield.analysis.summary import Reduced
from levelfield_fleet.groups import Peers, by_hardware
from levelfield_fleet.quorum import verdicts
from tests.fleet.fleets import Nodes, digest_of, fleet, flipped, with_digests, with_node


def _group(found: Nodes) -> Peers:
    (group,), _ = by_hardware(found)
    return group


def test_like_nodes_agree() -> None:
    found = verdicts(_group(fleet(4)))
    assert not found.wrong
    assert not found.varying
    assert not found.open
    assert found.agreed == 2


def test_one_flipped_bit_in_one_output_of_one_node_of_sixteen_is_named_whichever_node_it_is() -> None:
    nodes = fleet(16, 1)
    right = digest_of(nodes["n00"][0], "onnxruntime")
    for node in nodes:
        (wrong,) = verdicts(_group(with_node(nodes, node, with_digests("onnxruntime", flipped(right))))).wrong
        assert (wrong.node, wrong.arm, wrong.question) == (node, "onnxruntime", "mlp/fp32/b1/t2/cpu")
        assert (wrong.digest, wrong.majority, wrong.peers, wrong.of) == (flipped(right), right, 15, 15)


def test_two_nodes_that_differ_are_no_majority() -> None:
    found = verdicts(_group(with_node(fleet(2), "n00", with_digests("jax", "a" * 64))))
    assert not found.wrong
    assert not found.open
    (wrong,) = verdicts(_group(with_node(fleet(3), "n00", with_digests("jax", "a" * 64)))).wrong
    assert wrong.node == "n00"


def test_half_is_no_majority() -> None:
    nodes = fleet(4)
    for node in ("n00", "n01"):
        nodes = with_node(nodes, node, with_digests("jax", "a" * 64))
    found = verdicts(_group(nodes))
    assert not found.wrong
    assert found.open == ("jax/mlp/fp32/b1/t2/cpu",)
    assert found.agreed == 1


def test_two_wrong_nodes_of_five_are_both_named() -> None:
    nodes = fleet(5)
    for node in ("n00", "n01"):
        nodes = with_node(nodes, node, with_digests("jax", node[-1] * 64))
    assert [each.node for each in verdicts(_group(nodes)).wrong] == ["n00", "n01"]


def test_outputs_that_vary_within_nodes_name_nobody() -> None:
    nodes = fleet(5)
    for node in nodes:
        nodes = with_node(nodes, node, with_digests("jax", "a" * 64, node[-1] * 64))
    found = verdicts(_group(nodes))
    assert not found.wrong
    assert not found.varying
    assert found.open == ("jax/mlp/fp32/b1/t2/cpu",)


def test_a_node_that_alone_varies_is_told_and_not_named_wrong() -> None:
    nodes = fleet(5)
    right = digest_of(nodes["n00"][0], "jax")
    found = verdicts(_group(with_node(nodes, "n02", with_digests("jax", right, "b" * 64))))
    assert not found.wrong
    (varying,) = found.varying
    assert (varying.node, varying.outputs, varying.peers) == ("n02", 2, 4)


def test_another_image_or_other_weights_are_not_compared() -> None:
    def other_image(one: Reduced) -> Reduced:
        images = tuple(msgspec.structs.replace(image, layers=("sha256:other",)) for image in one.images)
        return msgspec.structs.replace(one, images=images)

    def other_weights(one: Reduced) -> Reduced:
        answers = {
            key: msgspec.structs.replace(answer, weights=frozenset({"w"})) for key, answer in one.answers.items()
        }
        return msgspec.structs.replace(one, answers=answers)

    wrong = with_node(fleet(5), "n02", with_digests("jax", "b" * 64))
    assert verdicts(_group(wrong)).wrong
    for change in (other_image, other_weights):
        assert not verdicts(_group(with_node(wrong, "n02", change))).wrong
