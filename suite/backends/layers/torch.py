"""Layers of a module of torch's, by forward hooks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.protocol import Arrays, See

HOW = (
    "The eager module, with a forward hook on every submodule. Hooks change no kernel of eager mode; what is compiled, "
    "traced or packed runs others when it runs as a whole."
)


def caller(torch: Any, module: Any, names: tuple[str, ...]) -> Callable[[Arrays, See], npt.NDArray[np.float32]]:  # noqa: ANN401
    """Return what computes a batch with an eager module, and shows what its submodules put out.

    A submodule that holds others is seen after them; operators between submodules are seen in the one that holds them.

    Parameters
    ----------
    torch
        The module `torch`.
    module
        An eager network.
    names
        Of its inputs, in order.
    """
    shown: list[See] = []

    def hook_of(name: str) -> Callable[..., None]:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:  # noqa: ANN401
            outputs = output if isinstance(output, list | tuple) else [output]
            for each in outputs:
                if isinstance(each, torch.Tensor) and shown:
                    shown[0](name, _bytes_of(torch, each))

        return hook

    for name, each in module.named_modules():
        each.register_forward_hook(hook_of(name or "model"))

    def call(inputs: Arrays, see: See) -> npt.NDArray[np.float32]:
        shown[:] = [see]
        with torch.inference_mode():
            return module(*[torch.from_numpy(inputs[name]) for name in names]).numpy()  # type: ignore[no-any-return]

    return call


def _bytes_of(torch: Any, tensor: Any) -> npt.NDArray[np.generic]:  # noqa: ANN401
    """Return a tensor's bytes in C order, whatever its layout and type: NumPy has no bfloat16."""
    plain = tensor.detach().contiguous().cpu()
    return plain.reshape(-1).view(torch.uint8).numpy()  # type: ignore[no-any-return]
