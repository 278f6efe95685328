"""The overhead trial's findings in words."""

import msgspec

from suite.record.schema import Case
from suite.trials.overhead.record import Cell
from suite.trials.overhead.show import summary
from tests.trials.overhead.cells import ARMS, EMPTY, findings, generations


def test_the_worst_contrast_is_named() -> None:
    cells = [
        Cell(backend, Case("bert", "latency", "fp32", 1, 2), ARMS, generations(ratio), findings("bert", ratio))
        for backend, ratio in (("jax", 1.002), ("torch", 0.97), ("openvino", 1.02))
    ]
    text = summary(msgspec.structs.replace(EMPTY, cells=tuple(cells)))
    assert "In one process: 1 within, 2 outside; farthest from the other torch on bert: 0.970" in text
