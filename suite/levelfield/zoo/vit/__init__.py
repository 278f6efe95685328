"""ViT-B/16 (Dosovitskiy et al. 2020): an image is 196 patches of 16 × 16, which twelve pre-norm layers look at.

Names are those of published checkpoints for the `transformers` library. The answer is the classifier's, from the first
token. Here are the parameters, the inputs and the layers.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from levelfield.zoo.resnet50 import seeded_image
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, attention, dense
from levelfield.zoo.weights import Arrays


class Sizes(msgspec.Struct, frozen=True):
    """Sizes of a ViT; those of ViT-B/16 unless said otherwise."""

    layers: Annotated[int, Meta(ge=1, le=256)] = 12
    hidden: Annotated[int, Meta(ge=1, le=1 << 16)] = 768
    heads: Annotated[int, Meta(ge=1, le=1 << 10)] = 12
    inner: Annotated[int, Meta(ge=1, le=1 << 18)] = 3072
    patch: Annotated[int, Meta(ge=1, le=128)] = 16
    """Height and width of a patch."""
    size: Annotated[int, Meta(ge=8, le=2048)] = 224
    """Height and width of an image."""
    classes: Annotated[int, Meta(ge=1, le=1 << 20)] = 1000
    epsilon: Annotated[float, Meta(gt=0, lt=1)] = 1e-12
    """Of LayerNorm, as in transformers; published code has 1e-6."""

    def __post_init__(self) -> None:
        """Refuse heads that do not divide the width, and patches that do not divide an image."""
        if self.heads < 1 or self.hidden % self.heads:
            raise ValueError(f"a width of {self.hidden} is not divided into {self.heads} heads")
        if self.patch < 1 or self.size % self.patch:
            raise ValueError(f"images of {self.size} pixels are not divided into patches of {self.patch}")

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.hidden // self.heads

    @property
    def grid(self) -> int:
        """Patches in each direction."""
        return self.size // self.patch

    @property
    def tokens(self) -> int:
        """Patches, and the token of the class before them."""
        return self.grid**2 + 1


BASE = Sizes()

_STD = 0.02


def _dense(name: str, fan_in: int, fan_out: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (fan_out, fan_in), std=_STD), Parameter(f"{name}.bias", (fan_out,), std=_STD)]


def _norm(name: str, width: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (width,), mean=1.0, std=0.1), Parameter(f"{name}.bias", (width,), std=0.1)]


def _parameters(sizes: Sizes) -> tuple[Parameter, ...]:
    hidden, patch = sizes.hidden, sizes.patch
    parameters = [
        Parameter("embeddings.cls_token", (1, 1, hidden), std=_STD),
        Parameter("embeddings.position_embeddings", (1, sizes.tokens, hidden), std=_STD),
        Parameter("embeddings.patch_embeddings.projection.weight", (hidden, 3, patch, patch), std=_STD),
        Parameter("embeddings.patch_embeddings.projection.bias", (hidden,), std=_STD),
    ]
    for number in range(sizes.layers):
        layer = f"encoder.layer.{number}"
        parameters += _norm(f"{layer}.layernorm_before", hidden)
        for part in ("query", "key", "value"):
            parameters += _dense(f"{layer}.attention.attention.{part}", hidden, hidden)
        parameters += _dense(f"{layer}.attention.output.dense", hidden, hidden)
        parameters += _norm(f"{layer}.layernorm_after", hidden)
        parameters += _dense(f"{layer}.intermediate.dense", hidden, sizes.inner)
        parameters += _dense(f"{layer}.output.dense", sizes.inner, hidden)
    return (*parameters, *_norm("layernorm", hidden), *_dense("classifier", hidden, sizes.classes))


MODEL = Model(
    name="vit",
    title="ViT-B/16, 224 × 224",
    inputs=(Tensor("images", (3, BASE.size, BASE.size), "float32"),),
    output=Tensor("logits", (BASE.classes,), "float32"),
    parameters=_parameters(BASE),
    source="Dosovitskiy et al., arXiv:2010.11929; as in transformers' ViTForImageClassification",
    package="vit",
    short_title="ViT-B/16",
    batches={"smoke": (2,), "standard": (4,), "full": (4, 8, 16)},
    by_default=False,
    reference_batch=4,
    activations=36_000_000,  # of twelve layers of 197 tokens, attention among them
)


FAMILY = "ViT"
"""What networks of such layers are called, whatever their size."""


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the ViT of a user's own weights."""
    return Model(
        name=name,
        title=f"ViT of {sizes.layers} layers, width {sizes.hidden}, {sizes.size} × {sizes.size}",
        inputs=(Tensor("images", (3, sizes.size, sizes.size), "float32"),),
        output=Tensor("logits", (sizes.classes,), "float32"),
        parameters=_parameters(sizes),
        source=MODEL.source,
        package="vit",
        short_title=FAMILY,
        batches=MODEL.batches,
        by_default=False,
        reference_batch=MODEL.reference_batch,
        activations=sizes.layers * sizes.tokens * (9 * sizes.hidden + 2 * sizes.inner + sizes.heads * sizes.tokens),
        sizes=sizes,
    )


def seeded_input(name: str, *, sizes: Sizes = BASE) -> Arrays:
    """Return the input of that name: `images`, shape (3, 224, 224), as ResNet-50's are."""
    return seeded_image(name, sizes.size)


def layers(*, sizes: Sizes = BASE) -> tuple[Layer, ...]:
    """Return the patches' convolution, six dense layers and two products of attention in each layer, and the head.

    Only the class token reaches the classifier; all of the last layer is computed nevertheless, as published.
    """
    hidden, patch, grid = sizes.hidden, sizes.patch, sizes.grid
    patches = Layer(
        name="embeddings.patch_embeddings.projection",
        kind=f"convolution {patch}×{patch}, stride {patch}",
        macs=grid**2 * 3 * patch**2 * hidden,
        weights=3 * patch**2 * hidden + hidden,
        reads=3 * sizes.size**2,
        writes=grid**2 * hidden,
    )
    encoder = (part for number in range(sizes.layers) for part in _layer(f"encoder.layer.{number}", sizes))
    return (patches, *encoder, dense("classifier", 1, hidden, sizes.classes))


def _layer(name: str, sizes: Sizes) -> tuple[Layer, ...]:
    tokens, hidden, inner = sizes.tokens, sizes.hidden, sizes.inner
    return (
        *(dense(f"{name}.attention.attention.{part}", tokens, hidden, hidden) for part in ("query", "key", "value")),
        *attention(f"{name}.attention", tokens, sizes.heads, hidden),
        dense(f"{name}.attention.output.dense", tokens, hidden, hidden),
        dense(f"{name}.intermediate.dense", tokens, hidden, inner),
        dense(f"{name}.output.dense", tokens, inner, hidden),
    )
