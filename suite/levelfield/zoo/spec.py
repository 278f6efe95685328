"""What a model is: all that must be known of it in one place; and what a user's own file is. All of it is plain data.

A worker imports this before NumPy.
"""

import functools
import importlib
import math
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Literal

import msgspec

from levelfield.zoo.training.recipe import Goal, Recipe


class Tensor(msgspec.Struct, frozen=True):
    """An input or output of a model, without its batch dimension."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """`float32` or `int32`: kinds that every framework takes without a conversion."""


class Parameter(msgspec.Struct, frozen=True):
    """A weight tensor: named and shaped as in the reference implementations (torchvision, transformers).

    Values are uniform with this mean and standard deviation (`zoo.bits.scaled`).
    """

    name: str
    shape: tuple[int, ...]
    mean: float = 0.0
    std: float = 0.0

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_statistic(self) -> bool:
        """Whether it is a running statistic: followed, not trained."""
        return self.name.endswith((".running_mean", ".running_var"))

    @property
    def decays(self) -> bool:
        """Whether weight decay applies: to matrices, kernels and embeddings, not to biases and the scales of norms."""
        return len(self.shape) > 1


class Layer(msgspec.Struct, frozen=True):
    """What one matrix product, convolution or lookup computes and moves, for one input.

    Element-wise work (a bias, a normalisation, an activation, the addition of a shortcut) is taken to be fused into the
    layer before it: it is no multiply-accumulate, and moves nothing of its own.
    """

    name: str
    kind: str
    """`dense`, `attention`, `lookup`, `convolution 3×3`, `convolution 3×3, stride 2`: what could be counted apart."""
    macs: int
    """Multiply-accumulates."""
    weights: int
    """Elements of weights that it needs, whatever the batch."""
    reads: int
    """Elements of activations in."""
    writes: int
    """Elements of activations out."""


class Operator(msgspec.Struct, frozen=True):
    """One operator, as a model of one layer."""

    kind: Literal["gemm", "conv", "attention", "softmax", "layernorm", "embedding", "gather", "scatter"]
    layer: Layer
    """What its arithmetic is counted from."""
    parameters: tuple[Parameter, ...] = ()
    stride: int = 1
    padding: int = 0
    heads: int = 1
    rows: int = 0
    """Of what is looked up in, taken from or added to."""


class Decoding(msgspec.Struct, frozen=True):
    """How a model answers token by token, with a cache of what it computed of the tokens before."""

    context: int
    """Tokens that its cache has room for."""
    caches: tuple[Tensor, ...]
    """What is kept of a sequence, by the names that an ONNX file has for it, in its whole size."""
    depths: dict[str, tuple[int, ...]]
    """Tokens in the cache when a call begins, by profile."""
    token_axis: int = 2
    """Axis along which a batch's cache has its tokens."""

    def empty_shapes(self, batch: int, *, growing: bool) -> dict[str, tuple[int, ...]]:
        """Return the shapes of caches in which nothing stands, by name: growing ones, or with all the context."""
        whole = {tensor.name: (batch, *tensor.shape) for tensor in self.caches}
        if not growing:
            return whole
        axis = self.token_axis
        return {name: (*shape[:axis], 0, *shape[axis + 1 :]) for name, shape in whole.items()}


class Model(msgspec.Struct, frozen=True):
    """Everything about a model but its arithmetic, which is in the modules of its folder (see `module`)."""

    name: str
    title: str
    """With its size: `ResNet-50 v1.5`, `MLP 200-128-64-32-16-8-1`."""
    inputs: tuple[Tensor, ...]
    output: Tensor
    parameters: tuple[Parameter, ...]
    source: str
    """Where the network was published."""
    package: str = ""
    """Folder that defines it: its own name, or that of the model whose layers it has."""
    root: str = "levelfield.zoo"
    """Import package that this folder is in."""
    short_title: str = ""
    """As people write it in a sentence: `ResNet-50`."""
    batches: dict[str, tuple[int, ...]] = {}
    """Batch sizes of throughput by profile: two items or more, since one at a time is latency."""
    training_batches: dict[str, tuple[int, ...]] = {}
    """Batch sizes of training by profile."""
    by_default: bool = True
    """Whether a run measures it where no models are named."""
    small: bool = False
    """Whether the standard profile measures its throughput and its training too, not its latency alone."""
    dataset_items: int = 0
    """Items of its dataset on disk: some megabytes, which stay in the page cache; 0: it has none."""
    reference_batch: int = 1
    """Items that the reference computes at a time: bounds its float64 intermediates to some hundreds of megabytes."""
    activations: int = 0
    """Elements of all layers' outputs for one item, about, from which a GPU's memory is shared; 0: not known. Inference
    lets most go on the way; workspaces take about as much."""
    mlperf: str = ""
    """Its name in MLPerf's rules for inference; empty: they have no such model."""
    quantized: tuple[str, ...] = ()
    """ONNX operators that are quantised to 8 bits; empty: it is not measured in int8."""
    labels: tuple[str, ...] = ("labels",)
    """What a training batch has beside the inputs."""
    recipe: Recipe | None = None
    """How it is trained; None: it is not."""
    goal: Goal | None = None
    """How a small network of its layers is trained to a target accuracy; None: there is none."""
    decoding: Decoding | None = None
    """How it answers token by token; None: it does not."""
    operator: Operator | None = None
    """The operator that it is; None: it is a network."""
    sizes: msgspec.Struct | None = None
    """Sizes of a network of its folder, as with weights of the user's own (`zoo.own_weights`); None: those of its
    folder."""

    @property
    def parameter_count(self) -> int:
        """Number of weights."""
        return sum(parameter.count for parameter in self.parameters)

    @property
    def trained(self) -> tuple[Parameter, ...]:
        """The tensors that an optimizer moves, in the order of the specification."""
        return tuple(parameter for parameter in self.parameters if not parameter.is_statistic)

    @property
    def statistics(self) -> tuple[Parameter, ...]:
        """BatchNorm's running statistics, in the order of the specification."""
        return tuple(parameter for parameter in self.parameters if parameter.is_statistic)

    @property
    def has_inputs(self) -> bool:
        """Whether there are seeded inputs for it: its small siblings, which are trained on data, have none."""
        return self.name == self.package or self.operator is not None or self.sizes is not None

    @property
    def inputs_stream(self) -> str:
        """Name of the streams of its seeded inputs: networks of one family and one size are given the same."""
        return self.name if self.sizes is None else self.package

    def module(self, name: str = "") -> ModuleType | SimpleNamespace:
        """Import a module of the model's folder; functions with an argument `sizes` are given the model's own, if any.

        the folder itself, its `__init__.py`
            `MODEL`; `seeded_input(name)`, the input of that name; `layers()`, from which its arithmetic is counted.
            Where there can be weights of the user's own: `Sizes`, and `of_weights(name, sizes)`, such a model.
            Where the model has a recipe: `labelled(inputs, names)`, which makes a training batch of inputs, with seeded
            labels of these names. Where it has a goal: `DIGITS`, the small network. Where it decodes:
            `seeded_tokens(name, count)`, and `cached_layers(tokens, depth)`, from which a call's arithmetic is counted.
        reference
            `forward(weights, inputs)` in NumPy float64; where it decodes also `logits(weights, input_ids, first)`.
        backward
            `loss_and_gradients(weights, batch)` in NumPy float64.
        torch, jax, tensorflow
            As `zoo.native.definition` describes them.
        """
        found = importlib.import_module(self.module_name(name))
        return found if self.sizes is None else _sized(found, self.sizes)

    def module_name(self, name: str) -> str:
        """Return the full name of a module of the model's folder."""
        return f"{self.root}.{self.package}.{name}" if name else f"{self.root}.{self.package}"


def _sized(module: ModuleType, sizes: msgspec.Struct) -> SimpleNamespace:
    """Return what a module holds, its functions for a network of these sizes."""
    found = dict(vars(module))
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and "sizes" in (value.__kwdefaults__ or {}):
            found[name] = functools.partial(value, sizes=sizes)
    return SimpleNamespace(**found)


def is_table(name: str) -> bool:
    """Return whether a matrix of that name is a table with one row a word, which is looked up and not multiplied."""
    return name.startswith("embeddings.") or name.endswith(".embed_tokens.weight")


def dense(name: str, rows: int, fan_in: int, fan_out: int, *, bias: bool = True) -> Layer:
    """Return a dense layer, applied to `rows` vectors of an input, whose widths are `fan_in` and `fan_out`."""
    return Layer(
        name=name,
        kind="dense",
        macs=rows * fan_in * fan_out,
        weights=fan_in * fan_out + (fan_out if bias else 0),
        reads=rows * fan_in,
        writes=rows * fan_out,
    )


def attention(name: str, tokens: int, heads: int, hidden: int) -> tuple[Layer, Layer]:
    """Return the two products of attention: of queries and keys, and of their scores and the values."""
    scores = heads * tokens**2
    macs = tokens**2 * hidden
    return (
        Layer(name=f"{name}.scores", kind="attention", macs=macs, weights=0, reads=2 * tokens * hidden, writes=scores),
        Layer(
            name=f"{name}.context",
            kind="attention",
            macs=macs,
            weights=0,
            reads=scores + tokens * hidden,
            writes=tokens * hidden,
        ),
    )


FLOATING = ("float16", "float32", "float64")
INTEGER = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
DTYPES = (*FLOATING, *INTEGER, "bool")
"""Types of inputs that a user's own file may have: there are values for them."""


class OwnInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input of a user's own file."""

    name: str
    dtype: str
    """One of `DTYPES`."""
    shape: tuple[int, ...]
    """Without its batch."""
    batched: bool
    """Whether it has the batch among its dimensions."""
    path: str | None = None
    """A `.npy` file with the user's own values, as the reader of this sees it; None: they are seeded."""
    axis: int = 0
    """Which dimension is the batch, where it is batched."""
    least: int = 0
    """Added to seeded whole numbers."""


class Sensitivity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far an output moves when weights and inputs are rounded (`zoo.sensitivity`): the largest over the draws."""

    relative_l2: float
    element: float
    """The largest of a single number (`zoo.parity.Errors`)."""
    centred: float = 0.0

    def times(self, factor: float) -> "Sensitivity":
        return Sensitivity(self.relative_l2 * factor, self.element * factor, self.centred * factor)


class Own(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker must know of a user's own file."""

    inputs: tuple[OwnInput, ...]
    python: str | None = None
    """A Python file, as the worker sees it, which has its inputs itself; None: it is an ONNX file."""
    function: str = ""
    """Its function."""
