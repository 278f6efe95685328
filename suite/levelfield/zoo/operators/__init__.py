"""The operators and their shapes, each a model of one layer.

Shapes are those of DeepBench (https://github.com/baidu-research/DeepBench, inference on servers: `gemm_problems.h` and
`conv_problems.h`), and those of the models here, all of
BERT-base, ViT-B/16 and ResNet-50 among them. Of a matrix product `gemm-MxNxK` the matrix of M × K is a weight, as
in a dense layer, and N vectors of K numbers are the input.
"""

import math

import numpy as np

from levelfield.zoo import bits
from levelfield.zoo.spec import Layer, Model, Operator, Parameter, Tensor, dense
from levelfield.zoo.weights import Arrays

EPSILON = 1e-5
"""Of LayerNorm."""
_DEEPBENCH = "DeepBench, inference on servers"

_PRODUCTS = {
    _DEEPBENCH: (
        (35, 700, 2048),
        (35, 1500, 2560),
        (512, 1, 512),
        (1024, 1, 512),
        (1024, 700, 512),
        (3072, 1, 1024),
        (3072, 2, 1024),
        (3072, 4, 1024),
        (3072, 1500, 1024),
        (4608, 1, 1536),
        (5124, 700, 2048),
        (6144, 1, 2048),
        (7680, 1, 2560),
        (8448, 1, 2816),
    ),
    "BERT-base": ((768, 128, 768), (3072, 128, 768), (768, 128, 3072)),
    "ViT-B/16": ((768, 197, 768), (3072, 197, 768), (768, 197, 3072)),
    "ResNet-50 v1.5": ((1000, 1, 2048),),
    "the decoder here": ((1376, 1, 512), (8192, 1, 512)),
}
"""M, N and K."""
_CONVOLUTIONS = {
    _DEEPBENCH: (
        (3, 224, 64, 7, 2),
        (3, 224, 64, 3, 1),
        (64, 112, 64, 1, 1),
        (192, 28, 32, 5, 1),
        (64, 56, 64, 3, 1),
        (64, 56, 256, 1, 1),
        (256, 56, 128, 1, 2),
        (128, 28, 128, 3, 1),
        (512, 28, 128, 1, 1),
        (256, 14, 256, 3, 1),
        (1024, 14, 256, 1, 1),
        (512, 7, 512, 3, 1),
        (512, 7, 2048, 1, 1),
    ),
    "ResNet-50 v1.5": (
        (64, 56, 64, 1, 1),
        (256, 56, 64, 1, 1),
        (256, 56, 128, 1, 1),
        (128, 56, 128, 3, 2),
        (128, 28, 512, 1, 1),
        (256, 56, 512, 1, 2),
        (512, 28, 256, 1, 1),
        (256, 28, 256, 3, 2),
        (256, 14, 1024, 1, 1),
        (512, 28, 1024, 1, 2),
        (1024, 14, 512, 1, 1),
        (512, 14, 512, 3, 2),
        (1024, 14, 2048, 1, 2),
        (2048, 7, 512, 1, 1),
    ),
}
"""Channels, width and height, filters, width of a filter, and stride; half a filter is padded on every side."""
_SOFTMAX = {"BERT-base's scores": ((1536, 128),), "a vocabulary": ((128, 8192), (128, 30522))}
"""Rows, and numbers in each."""
_LAYER_NORM = {"BERT-base": ((128, 768),), "ViT-B/16": ((197, 768),)}
_ATTENTION = {"BERT-base": ((128, 12, 64),), "ViT-B/16": ((197, 12, 64),)}
"""Tokens, heads, and width of a head."""
_LOOKUPS = {"BERT-base": ((30522, 768, 128),), "the decoder here": ((8192, 512, 128),)}
"""Rows of the table, their width, and how many are looked up."""
_GATHERED = {
    "BERT-base's masked tokens": ((128, 768, 20),),
    "half of the tokens, at BERT-base's width": ((1024, 768, 512),),
}
"""Rows of the input, their width, and how many are taken."""
_SCATTERED = {
    "half of the tokens, at BERT-base's width": ((1024, 768, 512),),
    "the gradient of the decoder's table": ((8192, 512, 128),),
}
"""Rows of the output, their width, and how many are added to rows of zeros; some to the same."""


def _model(name: str, title: str, source: str, operator: Operator, output: Tensor, *inputs: Tensor) -> Model:
    return Model(
        name=name,
        title=title,
        short_title=title,
        inputs=inputs,
        output=output,
        parameters=operator.parameters,
        source=source,
        package="operators",
        by_default=False,
        operator=operator,
    )


def _product(source: str, m: int, n: int, k: int) -> Model:
    name = f"gemm-{m}x{n}x{k}"
    operator = Operator("gemm", dense(name, n, k, m, bias=False), (Parameter("weight", (m, k), std=k**-0.5),))
    output, given = Tensor("product", (n, m), "float32"), Tensor("vectors", (n, k), "float32")
    return _model(name, f"Matrix product {m} × {n} × {k}", source, operator, output, given)


def _convolution(source: str, channels: int, size: int, filters: int, width: int, stride: int) -> Model:
    name = f"conv-{channels}x{size}x{size}-{filters}x{width}x{width}" + (f"-s{stride}" if stride > 1 else "")
    out = (size + 2 * (width // 2) - width) // stride + 1
    fan_in = channels * width**2
    layer = Layer(
        name=name,
        kind=f"convolution {width}×{width}" + (f", stride {stride}" if stride > 1 else ""),
        macs=out**2 * fan_in * filters,
        weights=fan_in * filters,
        reads=channels * size**2,
        writes=filters * out**2,
    )
    parameters = (Parameter("weight", (filters, channels, width, width), std=fan_in**-0.5),)
    operator = Operator("conv", layer, parameters, stride=stride, padding=width // 2)
    title = f"Convolution of {channels} × {size} × {size}, {filters} filters of {width} × {width}"
    title += f", stride {stride}" if stride > 1 else ""
    output, given = (
        Tensor("features", (filters, out, out), "float32"),
        Tensor("images", (channels, size, size), "float32"),
    )
    return _model(name, title, source, operator, output, given)


def _softmax(source: str, rows: int, width: int) -> Model:
    name, shape = f"softmax-{rows}x{width}", (rows, width)
    layer = Layer(name, "softmax", 0, 0, math.prod(shape), math.prod(shape))
    operator = Operator("softmax", layer)
    output, given = Tensor("shares", shape, "float32"), Tensor("scores", shape, "float32")
    return _model(name, f"Softmax of {rows} × {width}", source, operator, output, given)


def _layer_norm(source: str, rows: int, width: int) -> Model:
    name, shape = f"layernorm-{rows}x{width}", (rows, width)
    layer = Layer(name, "normalisation", 0, 2 * width, math.prod(shape), math.prod(shape))
    parameters = (Parameter("weight", (width,), mean=1.0, std=0.1), Parameter("bias", (width,), std=0.1))
    operator = Operator("layernorm", layer, parameters)
    output, given = Tensor("normal", shape, "float32"), Tensor("hidden", shape, "float32")
    return _model(name, f"LayerNorm of {rows} × {width}", source, operator, output, given)


def _attention(source: str, tokens: int, heads: int, head: int) -> Model:
    name, shape = f"attention-{tokens}x{heads}x{head}", (tokens, heads * head)
    moved = tokens * heads * head
    layer = Layer(name, "attention", 2 * tokens * moved, 0, 3 * moved, moved)
    operator = Operator("attention", layer, heads=heads)
    given = (Tensor(part, shape, "float32") for part in ("query", "key", "value"))
    title = f"Attention of {tokens} tokens, {heads} heads of {head}"
    return _model(name, title, source, operator, Tensor("context", shape, "float32"), *given)


def _lookup(source: str, rows: int, width: int, count: int) -> Model:
    name = f"embedding-{rows}x{width}-{count}"
    layer = Layer(name, "lookup", 0, 0, count * width, count * width)  # only the rows of the input are read
    # Named as a table is: its rows are not multiplied.
    operator = Operator("embedding", layer, (Parameter("embeddings.weight", (rows, width), std=1.0),), rows=rows)
    output, given = Tensor("vectors", (count, width), "float32"), Tensor("input_ids", (count,), "int32")
    return _model(name, f"Lookup of {count} in {rows} × {width}", source, operator, output, given)


def _gathered(source: str, rows: int, width: int, count: int) -> Model:
    name = f"gather-{rows}x{width}-{count}"
    operator = Operator("gather", Layer(name, "gather", 0, 0, count * width, count * width), rows=rows)
    output, hidden = Tensor("taken", (count, width), "float32"), Tensor("hidden", (rows, width), "float32")
    return _model(name, f"Gather of {count} from {rows} × {width}", source, operator, output, hidden, _rows(count))


def _scattered(source: str, rows: int, width: int, count: int) -> Model:
    name = f"scatter-{rows}x{width}-{count}"
    operator = Operator("scatter", Layer(name, "scatter", 0, 0, count * width, rows * width), rows=rows)
    output, added = Tensor("sums", (rows, width), "float32"), Tensor("vectors", (count, width), "float32")
    return _model(name, f"Scatter-add of {count} to {rows} × {width}", source, operator, output, added, _rows(count))


def _rows(count: int) -> Tensor:
    return Tensor("rows", (count,), "int32")


_KINDS = (
    (_product, _PRODUCTS),
    (_convolution, _CONVOLUTIONS),
    (_attention, _ATTENTION),
    (_softmax, _SOFTMAX),
    (_layer_norm, _LAYER_NORM),
    (_lookup, _LOOKUPS),
    (_gathered, _GATHERED),
    (_scattered, _SCATTERED),
)
MODELS: tuple[Model, ...] = tuple(
    make(source, *shape) for make, shapes in _KINDS for source, several in shapes.items() for shape in several
)


def seeded_input(model: Model, name: str) -> Arrays:
    """Return the input of that name: noise of standard deviation one, or numbers of rows."""
    arrays: Arrays = {}
    for tensor in model.inputs:
        stream = f"{name}/{tensor.name}"
        if tensor.dtype == "float32":
            arrays[tensor.name] = bits.scaled(stream, tensor.shape)
        else:
            assert model.operator is not None
            draws = bits.integers(stream, math.prod(tensor.shape))  # 24 bits each
            arrays[tensor.name] = ((draws * model.operator.rows) >> 24).astype(np.int32).reshape(tensor.shape)
    return arrays
