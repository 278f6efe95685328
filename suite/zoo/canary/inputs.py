"""The canary's signal."""

from suite.zoo import bits
from suite.zoo.canary.spec import WIDTH
from suite.zoo.weights import Arrays


def one(name: str) -> Arrays:
    """Return the input of that name: `signal`, shape (512,), standard deviation one."""
    return {"signal": bits.scaled(name, (WIDTH,))}
