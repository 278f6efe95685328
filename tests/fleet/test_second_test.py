"""A wrong answer that was computed again: wrong again, passing, and in which layer it begins."""

from pathlib import Path

import msgspec
import pytest

from suite.fleet import phrases, second_test
from suite.fleet.judge import judge
from suite.fleet.types import NodeVerdict, WrongAnswer
from suite.record import layers
from suite.record.layers import Layers
from suite.record.schema import Image
from tests.fleet.fleets import digest_of, fleet, flipped, with_digests, with_node
from tests.layered import NAMES, launch, layered

NODES = fleet(6, 1)
RIGHT = digest_of(NODES["n00"][0], "onnxruntime")
WRONG = flipped(RIGHT)
FLEET = with_node(NODES, "n02", with_digests("onnxruntime", WRONG))
OTHER_IMAGE = Image(name="onnxruntime", variant="cpu", launcher="docker", layers=("sha256:2",))


def _judged(**tests: list[Layers]) -> WrongAnswer:
    found = judge(FLEET, tests=tests)
    assert [node.name for node in found.nodes if node.verdict is NodeVerdict.WRONG] == ["n02"]
    (wrong,) = found.wrong
    return wrong


def test_wrong_again_and_the_layer_is_named() -> None:
    wrong = _judged(n02=[layered(launch(WRONG, 2), launch(WRONG, 2))], n05=[layered(launch(RIGHT), launch(RIGHT))])
    assert (wrong.layer, wrong.tested_again, wrong.wrong_again, wrong.reason) == (NAMES[2], 2, 2, "")
    assert phrases.answer_cells(wrong)[3:] == (NAMES[2], "wrong again in 2 of 2 launches")


def test_an_answer_that_was_wrong_once_is_still_reported() -> None:
    wrong = _judged(n02=[layered(launch(RIGHT), launch(RIGHT))])
    assert (wrong.layer, wrong.tested_again, wrong.wrong_again) == ("", 2, 0)
    assert phrases.again(wrong) == (
        "wrong again in 0 of 2 launches; it was seen once and did not come back: a transient fault"
    )
    reason = next(node.reason for node in judge(FLEET, tests={"n02": [layered(launch(RIGHT))]}).nodes if node.reason)
    assert reason.endswith("wrong again in 0 of 1 launch, it was seen once and did not come back: a transient fault")


def test_of_launches_the_one_that_is_wrong_tells_the_layer() -> None:
    wrong = _judged(n02=[layered(launch(RIGHT), launch(WRONG, 1))], n05=[layered(launch(RIGHT))])
    assert (wrong.layer, wrong.tested_again, wrong.wrong_again) == (NAMES[1], 2, 1)


def test_without_a_file_the_command_is_told() -> None:
    wrong = _judged(n05=[layered(launch(RIGHT))])
    assert (wrong.layer, wrong.tested_again) == ("", 0)
    assert phrases.answer_cells(wrong)[3:] == (
        "not looked for",
        "not tested again; on it and on a peer: levelfield layers onnxruntime/mlp/latency/fp32/b1/t2/cpu",
    )


@pytest.mark.parametrize(
    "peer",
    [
        [],
        [layered(launch(RIGHT), image=OTHER_IMAGE)],
        [layered(launch(RIGHT), hardware={"cpu model": "two"})],
        [layered(launch(RIGHT), data=("e",))],
        [layered(launch(WRONG))],
        [layered(launch(RIGHT), launch(RIGHT, 1))],
    ],
)
def test_a_layer_is_named_only_beside_a_peer_that_is_right_and_alike(peer: list[Layers]) -> None:
    wrong = _judged(n02=[layered(launch(WRONG, 2))], n05=peer)
    assert (wrong.layer, wrong.wrong_again) == ("", 1)
    assert phrases.answer_cells(wrong)[3:] == (
        "not found", "wrong again in 1 of 1 launch; no peer with the same image and data was tested"
    )  # fmt: skip


def test_most_of_the_peers_that_were_tested_decide() -> None:
    liar, right = [layered(launch(RIGHT, 0, "lie"))], [layered(launch(RIGHT))]
    own = [layered(launch(WRONG, 2))]
    assert _judged(n02=own, n00=liar, n01=right, n03=right).layer == NAMES[2]
    undecided = _judged(n02=own, n00=liar, n01=right)
    assert (undecided.layer, undecided.reason) == ("", "the peers that were tested differ in their layers")


def test_a_fault_that_only_the_whole_model_has_is_said() -> None:
    wrong = _judged(n02=[layered(launch(WRONG))], n05=[layered(launch(RIGHT))])
    assert (wrong.layer, wrong.reason) == ("", "no layer differs when the layers run one by one")


@pytest.mark.parametrize(
    ("question", "case"),
    [
        ("mlp/fp32/b1/t2/cpu", "torch/mlp/latency/fp32/b1/t2/cpu"),
        ("mlp/fp32/b100/t2/cpu", "torch/mlp/throughput/fp32/b100/t2/cpu"),
        ("mlp training/fp32/b32/t2/cpu", ""),
        ("mlp/fp32/b1/t2/cuda", ""),
        ("own/fp32/b1/t2/cpu", ""),
        ("nothing", ""),
    ],
)
def test_what_is_computed_again_is_a_result(question: str, case: str) -> None:
    assert second_test.case_of(WrongAnswer("n", "torch", question, "1" * 64, "2" * 64, 3, 3)) == case


def test_files_of_a_node_are_a_stranger_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = layered(launch(RIGHT))
    for name in ("layers.json", "layers-02.json", "other.json"):
        layers.write(good, tmp_path / name)
    (tmp_path / "layers-bad.json").write_bytes(b"{")
    (tmp_path / "layers-link.json").symlink_to(tmp_path / "layers.json")
    (tmp_path / "layers-\x1b[2J.json").write_bytes(b"{}")
    found, notes = second_test.files_of("n", tmp_path)
    assert found == [good, good]
    assert [note.split(" ")[0] for note in notes] == ["n/layers-bad.json", "n/layers-link.json"]
    monkeypatch.setattr(second_test, "MOST_FILES", 1)
    assert len(second_test.files_of("n", tmp_path)[1]) == 1
    assert second_test.files_of("n", tmp_path / "none") == ([], [])


def test_a_phrase_of_a_stranger_s_layer_is_cleaned() -> None:
    (wrong,) = judge(FLEET).wrong
    assert "\x1b" not in phrases.answer_cells(msgspec.structs.replace(wrong, layer="\x1b[2J", tested_again=1))[3]
