"""One dense layer, 64-10: its parameters, inputs and layers."""

from levelfield.zoo import bits
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, dense
from levelfield.zoo.weights import Arrays

MODEL = Model(
    name="linear",
    title="Linear 64-10",
    inputs=(Tensor("features", (64,), "float32"),),
    output=Tensor("scores", (10,), "float32"),
    parameters=(Parameter("weight", (10, 64), std=0.125), Parameter("bias", (10,), std=0.1)),
    source="levelfield-example",
    package="linear",
    root="levelfield_example",
    short_title="Linear",
    batches={"smoke": (8,), "standard": (8,), "full": (8, 64)},
)


def seeded_input(name: str) -> Arrays:
    """Return the input of that name: `features`, shape (64,), standard deviation one."""
    return {"features": bits.scaled(name, (64,))}


def layers() -> tuple[Layer, ...]:
    """Return the only layer."""
    return (dense("linear", 1, 64, 10),)
