"""The trial of a flipped bit, on a small record."""

import random
from pathlib import Path

import pytest

from studies import flipped_bit
from studies.flipped_bit import Flip, tried
from suite.record import files
from tests.fleet.fleets import flipped
from tests.fleet.samples import place, small
from tests.layered import NAMES, launch, layered

FLIP = Flip("onnxruntime", "mlp", "layers.1.weight", 3, 20, NAMES[2], masked=False)


@pytest.fixture
def source(tmp_path: Path) -> bytes:
    return (place(small("source"), tmp_path / "source") / files.NAME).read_bytes()


def _right(source: bytes) -> str:
    run = files.decode(source, "source")
    return next(
        each.parity.output_sha256
        for block in run.blocks
        for generation in block.generations
        for each in generation.launches
        if each.arm == "onnxruntime" and each.parity is not None
    )


def test_the_node_is_named_with_its_layer_and_nobody_on_unlike_hardware(source: bytes) -> None:
    right = _right(source)
    wrong = flipped(right)
    found = tried(
        source, layered(launch(right), launch(right)), layered(launch(wrong, 2), launch(wrong, 2)), FLIP,
        random.Random(1),
    )  # fmt: skip
    assert (found.verdict, found.layer, found.wrong_again, found.tested_again) == ("named", NAMES[2], 2, 2)
    assert (found.unlike_hardware, found.untested) == ("nobody named", "named")
    assert found.transient_named
    assert "did not come back" in found.transient_said


def test_a_bit_that_does_not_reach_the_output_is_no_trial(source: bytes) -> None:
    same = layered(launch(_right(source)))
    assert tried(source, same, same, FLIP, random.Random(1)).masked
    assert flipped_bit.MODELS == ("mlp", "resnet50")
