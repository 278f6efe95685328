"""Which nodes of a fleet's folder are tested again, and by which peer."""

from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.fleet.run import again, messages, node
from suite.record import files, layers
from tests.fleet.fleets import flipped
from tests.fleet.samples import fill
from tests.layered import launch, layered

CASE = "onnxruntime/mlp/latency/fp32/b1/t2/cpu"


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Path, str]:
    """A fleet of four nodes with one wrong answer, and the right one."""
    fill(tmp_path, 4)
    file = next((tmp_path / "node-1").rglob(files.NAME))
    run = files.read(file)
    right = next(
        each.parity.output_sha256
        for block in run.blocks
        for generation in block.generations
        for each in generation.launches
        if each.arm == "onnxruntime" and each.parity is not None
    )
    file.write_bytes(file.read_bytes().replace(right.encode(), flipped(right).encode()))
    return tmp_path, right


def test_the_node_that_is_wrong_and_a_peer_are_asked(folder: tuple[Path, str]) -> None:
    (asked,) = again.needed(folder[0], {"node-1", "node-2", "node-3"})
    assert (asked.wrong.node, asked.case, asked.peer) == ("node-1", CASE, "node-2")


def test_a_node_that_is_gone_is_not_asked(folder: tuple[Path, str]) -> None:
    assert not list(again.needed(folder[0], {"node-0", "node-2"}))
    assert not list(again.needed(folder[0], {"node-1"}))


def test_what_was_tested_again_is_not_tested_once_more(folder: tuple[Path, str]) -> None:
    path, right = folder
    layers.write(layered(launch(right)), path / "node-1" / "layers-01.json")
    assert not list(again.needed(path, {"node-0", "node-1"}))
    assert again._free(path / "node-1").name == "layers-02.json"


def test_a_case_is_no_option() -> None:
    asked = messages.TestAgain(CASE, "docker", "debian", 1.0)
    assert messages.request_of(messages.encode(asked)) == asked
    with pytest.raises(LevelfieldError, match="what no head asks"):
        messages.request_of(messages.encode(msgspec.structs.replace(asked, case="--output=/etc/passwd")))


def test_a_node_says_why_it_could_not_compute_again() -> None:
    with pytest.raises(LevelfieldError, match="could not be computed again"):
        node.test_again(messages.TestAgain("onnxruntime/nlp", "host", "debian", 60.0))
