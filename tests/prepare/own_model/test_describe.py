"""What is measured of a file, from the inputs that it declares."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelfield.backends import protobuf
from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import describe, dimensions, onnx_format, operators, store
from levelfield.record.schema import OwnFile
from levelfield.zoo import inputs
from levelfield.zoo.spec import Own, OwnInput
from tests.prepare.own_model import onnx_files
from tests.prepare.own_model.onnx_files import read, refused

pytestmark = pytest.mark.usefixtures("cache")


def of(folder: Path, inputs: dict[str, onnx_files.Shape], *nodes: bytes, element: int = onnx_files.FLOAT) -> Path:
    """A file with these inputs, and an output `y`."""
    given = [onnx_files.value(name, element, shape) for name, shape in inputs.items()]
    output = onnx_files.value("y", element, [1])
    return onnx_files.write(folder, "odd.onnx", onnx_files.model(nodes, [], given, [output]))


def shapes(one: OwnFile, batch: int = 3) -> list[tuple[int, ...]]:
    return list(describe.shapes(one, batch).values())


def test_only_the_batch_needs_no_size(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    with refused(
        "encoder.onnx", r"sequence \(tokens\[1\], mask\[1\]\)", "bench --model encoder.onnx --input sequence=128"
    ):
        read(path)
    with refused("has no dimension sequense without a size", "sequence"):
        read(path, {"sequense": 12})
    with refused("cannot be 99999999 long"):
        read(path, {"sequence": 99999999})
    for count, sides in ((1025, 1), (1, 65)):  # to print a million takes many minutes
        with refused("than (1024|64)"):
            read(of(tmp_path, dict.fromkeys(map(str, range(count)), [1] * sides)))
    one = read(path, {"sequence": 12})
    assert [(each.shape, each.batched) for each in one.inputs] == [((12,), True)] * 2
    assert one.dimensions == {"sequence": 12}
    assert not read(path, {"sequence": 12, "batch": 3}).batched
    by_place = read(path, {"tokens[1]": 12})
    assert [(each.shape, each.batched) for each in by_place.inputs] == [((12,), True)] * 2
    with refused("sequence of encoder.onnx cannot be 12 and 13 long"):
        read(path, {"tokens[1]": 12, "mask[1]": 13})


def test_one_symbol_is_one_size_wherever_it_is(tmp_path: Path) -> None:
    detector: dict[str, onnx_files.Shape] = {"input": ["batch", "sequence"], "state": [2, "batch", 128]}
    one = read(of(tmp_path, detector), {"sequence": 512})
    assert shapes(one) == [(3, 512), (2, 3, 128)]
    assert [each.axis for each in one.inputs] == [0, 1]
    twice = read(of(tmp_path, {"x": ["batch", "batch"], "z": ["2*batch"]}))
    assert not twice.batched, "a call is one item"
    assert shapes(twice) == [(1, 1), (2,)]
    with refused(r"x\[1\], x\[2\], y", r"--input 'x\[1\]=128' --input 'x\[2\]=224' --input y=128"):
        read(of(tmp_path, {"x": ["?", "?", "-1", 3], "z": ["N", "y"]}, element=onnx_files.INT64), {"x[0]": 1})
    several = read(of(tmp_path, {"x": ["rows", 2], "z": ["batch_size", "rows"]}), {"rows": 5})
    assert shapes(several) == [(5, 2), (3, 5)]
    with refused("rows .*columns", "--input rows=128 --input columns=128"):
        read(of(tmp_path, {"x": ["rows", 2], "z": ["columns", 2]}))


def test_dimensions_that_are_computed(tmp_path: Path) -> None:
    path = of(tmp_path, {"x": ["batch", "s0"], "z": ["batch", "2*s0"], "past": ["batch", 8, "p + s0 - 1"]})
    with refused("s0 .*p .past", "--input s0=128 --input p=128"):
        read(path)
    assert shapes(read(path, {"s0": 64, "p": 0})) == [(3, 64), (3, 128), (3, 8, 63)]
    with refused(r"z\[1\] of odd.onnx is 2\*s0, which is computed", "--input s0=64"):
        read(path, {"2*s0": 128})
    with refused(r"p \+ s0 - 1 has no size where p = 0, s0 = 0"):
        read(path, {"s0": 0, "p": 0})


def test_nothing_is_a_size(tmp_path: Path) -> None:
    assert shapes(read(of(tmp_path, {"x": ["batch", 4], "past": ["batch", "past", 4]}), {"past": 0}))[1] == (3, 0, 4)
    fixed = of(tmp_path, {"x": [1, 4], "past": [1, 0, 4]})
    assert shapes(read(fixed)) == [(1, 4), (1, 0, 4)]
    assert shapes(read(fixed, {"past[1]": 2})) == [(1, 4), (1, 2, 4)], "some exporters write 0 where they know none"


def test_what_cannot_be_measured_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def of(inputs: list[bytes], outputs: list[bytes]) -> Path:
        return onnx_files.write(tmp_path, "odd.onnx", onnx_files.model([], [], inputs, outputs))

    number = onnx_files.value("x", onnx_files.FLOAT, [1])
    for takes, answers, says in (
        ([], [number], "has no inputs"),
        ([number], [], "has no outputs"),
        ([number, number], [number], "two inputs called x"),
        ([number], [number, number], "two outputs called x"),
        ([onnx_files.value("x", onnx_files.FLOAT, None)], [number], "does not say how many dimensions its input x has"),
    ):
        with refused(says):
            read(of(takes, answers))
    for element, name in ((onnx_files.STRING, "string"), (onnx_files.BFLOAT16, "bfloat16"), (21, "uint4")):
        with refused(f"input x of odd.onnx takes {name}"):
            read(of([onnx_files.value("x", element, [1])], [number]))
    for kind, says in ((4, "a sequence"), (5, "a map"), (8, "a sparse tensor"), (9, "an optional value")):
        with refused(f"output y of odd.onnx is {says}", "zipmap=False"):
            read(of([number], [protobuf.text(1, b"y") + protobuf.text(2, protobuf.text(kind, b""))]))


def test_operators_that_nobody_can_compare_or_run_are_named(tmp_path: Path) -> None:
    x: dict[str, onnx_files.Shape] = {"x": [4]}
    with refused(r"odd.onnx draws random numbers \(RandomUniformLike\)"):
        read(of(tmp_path, x, onnx_files.node("RandomUniformLike", ["x"], ["y"])))
    with refused("operator Spin of the domain my.ops"):
        read(of(tmp_path, x, onnx_files.node("Spin", ["x"], ["y"], domain="my.ops")))
    assert read(of(tmp_path, x, onnx_files.node("Gelu", ["x"], ["y"], domain="com.microsoft")))
    own = of(tmp_path, x, onnx_files.node("Spin", ["x"], ["y"], domain="my.ops"))
    inside = protobuf.text(7, onnx_files.node("RandomNormal", [], ["y"]))
    function = protobuf.text(1, b"Spin") + protobuf.text(10, b"my.ops")
    own.write_bytes(own.read_bytes() + protobuf.text(25, function))
    assert read(own), "the file defines it"
    own.write_bytes(own.read_bytes() + protobuf.text(25, function + inside))
    with refused("RandomNormal"):
        read(own)


def test_precision_is_that_of_the_file(tmp_path: Path) -> None:
    def precision(*nodes: bytes, weights: Sequence[bytes] = (), element: int = onnx_files.FLOAT) -> str:
        given, output = (onnx_files.value(name, element, [4]) for name in ("x", "y"))
        return read(onnx_files.write(tmp_path, "m.onnx", onnx_files.model(nodes, weights, [given], [output]))).precision

    one, half = (onnx_files.tensor("w", np.ones(400, dtype)) for dtype in ("<f4", "<f2"))
    scale = onnx_files.tensor("s", np.ones(1, "<f2"))
    quantised = onnx_files.integer("bits", 4)
    assert precision(weights=[one]) == precision(weights=[one, scale]) == "fp32"
    assert precision(weights=[half]) == precision(element=onnx_files.FLOAT16) == "fp16"
    assert precision(weights=[half.replace(protobuf.number(2, 10), protobuf.number(2, 16))]) == "bf16"
    assert precision(onnx_files.node("QuantizeLinear", ["x", "w"], ["y"]), weights=[one]) == "int8"
    assert precision(onnx_files.node("MatMulNBits", ["x", "w"], ["y"], quantised, "com.microsoft")) == "int4"
    eight = onnx_files.integer("bits", 8)
    assert precision(onnx_files.node("MatMulNBits", ["x", "w"], ["y"], eight, "com.microsoft")) == "int8"


def test_nothing_is_divided_by_zero(tmp_path: Path) -> None:
    nodes = (
        onnx_files.node("Unsqueeze", ["by", "axes"], ["column"]),
        onnx_files.node("Div", ["x", "column"], ["y"]),
        onnx_files.node("Cast", ["mask"], ["weight"], onnx_files.integer("to", onnx_files.FLOAT)),
        onnx_files.node("Div", ["z", "weight"], ["other"]),
    )
    one = read(of(tmp_path, {"x": [4], "by": [4], "mask": [4]}, *nodes, element=onnx_files.INT64))
    assert [each.least for each in one.inputs] == [0, 1, 0], "a mask of floating point keeps its zeros"
    assert set(inputs.make_own(store.description(one, ""), 0, 1)["by"]) <= {1, 2}
    for dtype in ("bool", "uint8", "int8"):
        own = Own((OwnInput("x", dtype, (500,), batched=False, least=1),))
        assert min(inputs.make_own(own, 0, 1)["x"].tolist()) > 0


def test_long_names_and_old_lists_of_weights(tmp_path: Path) -> None:
    long = "n" * 330
    path = onnx_files.write(
        tmp_path,
        "m.onnx",
        onnx_files.model(
            [onnx_files.node("Mul", [long, "w"], ["y"])],
            [onnx_files.tensor("w", np.ones(4, "<f4"))],
            [onnx_files.value(long, onnx_files.FLOAT, [long, 4]), onnx_files.value("w", onnx_files.FLOAT, [4])],
            [onnx_files.value("y", onnx_files.FLOAT, [long, 4])],
        ),
    )
    one = read(path)
    assert [each.name for each in one.inputs] == [long], "an initialiser that is listed among the inputs is none"
    assert store.find_recorded(one) == one


@settings(max_examples=300, deadline=None)
@given(cut=st.integers(0, 10_000), place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(cut: int, place: int, byte: int) -> None:
    content = bytearray(onnx_files.encoder())
    content[place % len(content)] = byte
    del content[cut % (2 * len(content)) :]
    try:
        graph = onnx_format.read_graph(memoryview(bytes(content)))
        assert operators.precision(graph)
        operators.names(graph)
        operators.divisors(graph)
        sizes = describe.resolve("x", graph, {})
        assert str(describe.missing("x", sizes, {})) + "".join(map(str, describe.refusals("x", graph)))
        b"".join(onnx_format.fixed(memoryview(bytes(content)), {"tokens": (1, 12)}))
    except protobuf.MalformedError:
        pass


@settings(max_examples=300, deadline=None)
@given(name=st.one_of(st.text(max_size=40), st.text("s01+-*/(), MaxMinod", max_size=130)), one=st.integers(0, 99))
def test_any_name_of_a_dimension_has_symbols_and_a_size_or_none(name: str, one: int) -> None:
    with contextlib.suppress(LevelfieldError):
        assert dimensions.size(name, dict.fromkeys(dimensions.symbols(name), one)) >= 0
