"""Layers of a function of JAX's: its jaxpr, one equation after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.protocol import See

HOW = (
    "The traced function (jaxpr), equation by equation, each compiled by itself: XLA fuses nothing across them, and "
    "the whole model's kernels may be others."
)


def caller(
    jax: Any,  # noqa: ANN401
    forward: Callable[..., Any],
    example: list[Any],
) -> Callable[[list[Any], See], npt.NDArray[np.float32]]:
    """Trace a function, and return what computes it equation by equation and shows what each puts out.

    A layer is named by the primitive and its number: `dot_general 4`. A function that was jitted by itself is one.

    Parameters
    ----------
    jax
        The module `jax`.
    forward
        Of arrays, with its weights bound.
    example
        Its arguments.
    """
    closed = jax.make_jaxpr(forward)(*example)
    jaxpr = closed.jaxpr

    def call(arguments: list[Any], see: See) -> npt.NDArray[np.float32]:
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values |= dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Any:  # noqa: ANN401
            return atom.val if hasattr(atom, "val") else values[atom]

        for number, equation in enumerate(jaxpr.eqns):
            bound = equation.primitive.get_bind_params(equation.params)
            functions, parameters = bound if isinstance(bound, tuple) else ((), bound)  # a tuple before JAX 0.10
            found = equation.primitive.bind(*functions, *map(read, equation.invars), **parameters)
            outputs = found if equation.primitive.multiple_results else [found]
            name = f"{equation.primitive.name} {number}"
            for variable, output in zip(equation.outvars, outputs, strict=True):
                values[variable] = output
                see(name, np.ascontiguousarray(np.asarray(output)).reshape(-1).view(np.uint8))
        (answer,) = (read(each) for each in jaxpr.outvars)
        return np.asarray(answer)

    return call
