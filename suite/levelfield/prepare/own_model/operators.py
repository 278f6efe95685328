"""What a file's operators say of it: its precision, what nothing here can run, and which inputs divide."""

import re
from collections import Counter
from collections.abc import Iterator

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model.onnx_format import DTYPES, Graph, Node

_QUANTISED = re.compile(r"QuantizeLinear|QLinear|Integer|QGemm|QAttention")
"""In names of operators on 8-bit integers."""
_BLOCKS = ("MatMulNBits", "GatherBlockQuantized", "MatMulBnb4")
"""Operators whose weights have a few bits each, and a scale for every block of them."""
_HALVES = {"float16": "fp16", "bfloat16": "bf16"}
_FLOATING = ("float32", "float64", *_HALVES)
_LEAST_SHARE = 100
"""A file is in half precision where at least one of so many of its weights is."""
_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
_DOMAINS = re.compile(r"(ai\.onnx|com\.microsoft|com\.ms\.internal|org\.openvinotoolkit|org\.pytorch\.aten)?(\..*|$)")
"""Those that runtimes define: ONNX's own, and those of ONNX Runtime and OpenVINO."""
_POSITIVE = re.compile(
    r"Identity|Cast|Reshape|Squeeze|Unsqueeze|Flatten|Transpose|Expand|Tile|Slice|Gather|GatherElements|GatherND|"
    r"Concat|Split|Neg|Abs|Add|Sum|Mul|Max|Min|CumSum|Reduce(Sum|Prod|Max|Min)"
)
"""Operators whose answer is never 0 where all that they are given is above 0."""


def names(graph: Graph) -> dict[str, int]:
    """Return how often each operator is called; those of others than ONNX with their domain."""
    counted = Counter(f"{node.domain}.{node.operator}".lstrip(".") for node in graph.nodes)
    return dict(sorted(counted.items()))


def precision(graph: Graph) -> str:
    """Return the lowest precision that a file's operators, its weights, or inputs and outputs are in."""
    four = {"uint4", "int4", "uint2", "int2", "float4e2m1"}
    if four & set(graph.elements) or any(
        node.operator in _BLOCKS and node.numbers.get("bits", 4) <= 4 for node in graph.nodes
    ):
        return "int4"
    if any(_QUANTISED.search(node.operator) or node.operator in _BLOCKS for node in graph.nodes):
        return "int8"
    counted = {dtype: graph.elements.get(dtype, 0) for dtype in _FLOATING}
    casts = {DTYPES.get(node.numbers.get("to", 0)) for node in graph.nodes if node.operator == "Cast"}
    given = {value.dtype for value in (*graph.inputs, *graph.outputs)} | casts
    for dtype, name in sorted(_HALVES.items(), key=lambda half: -counted[half[0]]):
        if dtype in given or (counted[dtype] and counted[dtype] * _LEAST_SHARE >= sum(counted.values())):
            return name
    return "fp32"


def refusals(name: str, graph: Graph) -> Iterator[LevelfieldError]:
    """Say why a file cannot be measured: it draws random numbers, or calls what no runtime has."""
    drawing = {node.operator for node in graph.nodes if node.operator in _RANDOM and not node.domain}
    if drawing:
        yield LevelfieldError(
            f"{name} draws random numbers ({', '.join(sorted(drawing))}): no two of its answers are alike, and none "
            "can be compared.",
            fix="Export it in evaluation mode, or with its random numbers as an input.",
        )
    unknown = dict.fromkeys(
        (node.domain, node.operator)
        for node in graph.nodes
        if not _DOMAINS.fullmatch(node.domain) and (node.domain, node.operator) not in graph.functions
    )
    for domain, operator in unknown:
        yield LevelfieldError(
            f"{name} calls the operator {operator} of the domain {domain}, which neither the file nor a runtime here "
            "defines.",
            fix="Export it with ONNX's own operators; libraries of operators are not loaded.",
        )


def divisors(graph: Graph) -> set[str]:
    """Return the inputs of whole numbers that something is divided by."""
    made_by = {output: number for number, node in enumerate(graph.nodes) for output in node.outputs if output}
    inputs = {value.name for value in graph.inputs if "float" not in value.dtype}
    found: set[str] = set()
    seen: set[int] = set()
    left = [
        node.inputs[1]
        for node in graph.nodes
        if node.operator in {"Div", "Mod"} and not node.domain and len(node.inputs) > 1
    ]
    while left:
        value = left.pop()
        number = made_by.get(value)
        if value in inputs:
            found.add(value)
        elif number is not None and number not in seen:
            seen.add(number)
            left += graph.nodes[number].inputs if _stays_whole(graph.nodes[number]) else ()
    return found


def _stays_whole(node: Node) -> bool:
    """Return whether what a node is given decides whether its answer is 0, as a whole number."""
    to_float = node.operator == "Cast" and "float" in DTYPES.get(node.numbers.get("to", 1), "float")
    return not node.domain and not to_float and bool(_POSITIVE.fullmatch(node.operator))
