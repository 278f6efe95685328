"""ViT-B/16 (Dosovitskiy et al. 2020): an image is 196 patches of 16 × 16, which twelve pre-norm layers look at.

Names are those of published checkpoints for the `transformers` library. The answer is the classifier's, from the first
token. Here are the parameters, the inputs and the layers.
"""

from suite.zoo.resnet50.spec import CLASSES, SHAPE, SIZE
from suite.zoo.resnet50.spec import seeded_input as seeded_image
from suite.zoo.spec import Layer, Model, Parameter, Tensor, attention, dense
from suite.zoo.weights import Arrays

LAYERS = 12
HIDDEN = 768
HEADS = 12
HEAD = HIDDEN // HEADS
INNER = 4 * HIDDEN
PATCH = 16
GRID = SIZE // PATCH
TOKENS = GRID**2 + 1
"""Patches, and the token of the class before them."""
EPSILON = 1e-12
"""Of LayerNorm, as in transformers; published code has 1e-6."""

_STD = 0.02


def _dense(name: str, fan_in: int, fan_out: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (fan_out, fan_in), std=_STD), Parameter(f"{name}.bias", (fan_out,), std=_STD)]


def _norm(name: str) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (HIDDEN,), mean=1.0, std=0.1), Parameter(f"{name}.bias", (HIDDEN,), std=0.1)]


def _parameters() -> tuple[Parameter, ...]:
    parameters = [
        Parameter("embeddings.cls_token", (1, 1, HIDDEN), std=_STD),
        Parameter("embeddings.position_embeddings", (1, TOKENS, HIDDEN), std=_STD),
        Parameter("embeddings.patch_embeddings.projection.weight", (HIDDEN, SHAPE[0], PATCH, PATCH), std=_STD),
        Parameter("embeddings.patch_embeddings.projection.bias", (HIDDEN,), std=_STD),
    ]
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        parameters += _norm(f"{layer}.layernorm_before")
        for part in ("query", "key", "value"):
            parameters += _dense(f"{layer}.attention.attention.{part}", HIDDEN, HIDDEN)
        parameters += _dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        parameters += _norm(f"{layer}.layernorm_after")
        parameters += _dense(f"{layer}.intermediate.dense", HIDDEN, INNER)
        parameters += _dense(f"{layer}.output.dense", INNER, HIDDEN)
    return (*parameters, *_norm("layernorm"), *_dense("classifier", HIDDEN, CLASSES))


MODEL = Model(
    name="vit",
    title="ViT-B/16, 224 × 224",
    inputs=(Tensor("images", SHAPE, "float32"),),
    output=Tensor("logits", (CLASSES,), "float32"),
    parameters=_parameters(),
    source="Dosovitskiy et al., arXiv:2010.11929; as in transformers' ViTForImageClassification",
    package="vit",
    short_title="ViT-B/16",
    batches={"smoke": (2,), "standard": (4,), "full": (4, 8, 16)},
    by_default=False,
    reference_batch=4,
    activations=36_000_000,  # of twelve layers of 197 tokens, attention among them
)


def seeded_input(name: str) -> Arrays:
    """Return the input of that name: `images`, shape (3, 224, 224), as ResNet-50's are."""
    return seeded_image(name)


def layers() -> tuple[Layer, ...]:
    """Return the patches' convolution, six dense layers and two products of attention in each of twelve, and the head.

    Only the class token reaches the classifier; all of the last layer is computed nevertheless, as published.
    """
    patches = Layer(
        name="embeddings.patch_embeddings.projection",
        kind=f"convolution {PATCH}×{PATCH}, stride {PATCH}",
        macs=GRID**2 * SHAPE[0] * PATCH**2 * HIDDEN,
        weights=SHAPE[0] * PATCH**2 * HIDDEN + HIDDEN,
        reads=SHAPE[0] * SIZE**2,
        writes=GRID**2 * HIDDEN,
    )
    encoder = (part for number in range(LAYERS) for part in _layer(f"encoder.layer.{number}"))
    return (patches, *encoder, dense("classifier", 1, HIDDEN, CLASSES))


def _layer(name: str) -> tuple[Layer, ...]:
    return (
        *(dense(f"{name}.attention.attention.{part}", TOKENS, HIDDEN, HIDDEN) for part in ("query", "key", "value")),
        *attention(f"{name}.attention", TOKENS, HEADS, HIDDEN),
        dense(f"{name}.attention.output.dense", TOKENS, HIDDEN, HIDDEN),
        dense(f"{name}.intermediate.dense", TOKENS, HIDDEN, INNER),
        dense(f"{name}.output.dense", TOKENS, INNER, HIDDEN),
    )
