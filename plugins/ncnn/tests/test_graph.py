"""The writer of ncnn's format; what ncnn computes of it is tested in its image (`tests/run/test_plugins_docker.py`)."""

from pathlib import Path

import numpy as np

from levelfield_ncnn.graph import FLOAT32, MAGIC, Graph, plain, typed


def test_an_output_that_two_layers_read_is_split_and_everything_is_counted(tmp_path: Path) -> None:
    graph = Graph()
    x = graph.input("x")
    dense = graph.add(
        "InnerProduct", x, values={0: 2, 9: 1}, weights=[typed(np.ones((2, 3), np.float32)), plain(np.zeros(2))]
    )
    clipped = graph.add("Clip", dense, values={0: 0.0, 1: 6.0})
    total = graph.add("BinaryOp", clipped, dense, values={0: 0})
    layers, weights = graph.write(tmp_path, total)
    lines = layers.read_text(encoding="ascii").splitlines()
    assert lines[0] == str(MAGIC)
    assert lines[1] == "6 7", "layers, and what they give out"
    assert lines[2:] == [
        "Input l0 0 1 x",
        "InnerProduct l1 1 1 x b1 0=2 9=1",
        "Split s1 1 2 b1 b1_0 b1_1",
        "Clip l2 1 1 b1_0 b2 0=0.000000e+00 1=6.000000e+00",
        "BinaryOp l3 2 1 b2 b1_1 b3 0=0",
        "Noop l4 1 1 b3 output",
    ]
    assert weights.read_bytes() == FLOAT32 + np.ones(6, "<f4").tobytes() + np.zeros(2, "<f4").tobytes()


def test_a_layer_that_takes_one_thing_thrice_gets_three_copies(tmp_path: Path) -> None:
    graph = Graph()
    x = graph.input("x")
    layers, _ = graph.write(tmp_path, graph.add("MultiHeadAttention", x, x, x, values={10: (0.0, 6.0)}))
    text = layers.read_text(encoding="ascii")
    assert "Split s0 1 3 x x_0 x_1 x_2" in text
    assert "MultiHeadAttention l1 3 1 x_0 x_1 x_2 b1 -23310=2,0.000000e+00,6.000000e+00" in text
