"""Networks of PyTorch's: what is prepared before the first call, where a setting asks for it; which products they make.

Products are counted as they are dispatched, by the type of what they multiply.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from levelfield.backends.precisions import precision_of
from levelfield.backends.protocol import Options, Unsupported


class OneDNNLinear(nn.Module):  # type: ignore[misc,unused-ignore]
    """A linear layer that oneDNN computes, with weights that it packed before.

    The operators are those that torch's own compiler calls for it. (`torch.utils.mkldnn.to_mkldnn`, the documented way,
    copies every input into a tensor of oneDNN's and every output back.)
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())  # noqa: SLF001  (as inductor does)
        self.bias = linear.bias.detach()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute x · weightᵀ + bias over the last axis."""
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [None], "")  # noqa: SLF001  (the same)


def prepare(module: Any, example: Sequence[npt.NDArray[np.generic]], options: Options) -> Any:  # noqa: ANN401 (a module of torch's)
    """Return a module that computes the same, prepared as the settings ask.

    `linear=onednn` replaces linear layers by `OneDNNLinear`. `frozen=on` traces the module with the example and freezes
    it: weights become constants, and BatchNorm is folded into the convolution before it.

    Raises Unsupported: oneDNN is asked for on a GPU, or in another precision than fp32, where ATen chooses it by
    itself.

    See https://docs.pytorch.org/docs/stable/generated/torch.jit.freeze.html
    """
    if options.settings.get("linear") == "onednn":
        if options.device != "cpu" or options.precision != "fp32":
            raise Unsupported(
                f"torch has linear=onednn on CPUs in fp32 only, not in {options.precision} on {options.device}: leave "
                "the setting out."
            )
        _replace_linear(module)
    if options.settings.get("frozen") != "on":
        return module
    with torch.no_grad():
        arrays = tuple(torch.from_numpy(array).to(options.device) for array in example)
        return torch.jit.freeze(torch.jit.trace(module, arrays))


def _replace_linear(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, OneDNNLinear(child))
        else:
            _replace_linear(child)


_PRODUCTS = re.compile(
    r"(_?convolution|convolution_backward|mkldnn_convolution|mkldnn_linear|_linear_pointwise|addmm|mm|bmm|baddbmm|linear"
    r"|_scaled_dot_product.*)"
)
"""Operators that multiply matrices or convolve, as they are dispatched below autograd."""


class _Watch(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    """Sees every operator below autograd."""

    def __init__(self, products: Counter[str]) -> None:
        super().__init__()
        self._products = products

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Say that dynamo need not be told to leave this mode alone: it would be imported, which takes 4 s."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        del types
        if _PRODUCTS.fullmatch(func.overloadpacket.__name__):
            found = [each.dtype for each in args if isinstance(each, torch.Tensor) and each.dim() > 1]
            self._products[precision_of(str(found[-1])) if found else "unknown"] += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def watching() -> Iterator[Counter[str]]:
    """Count the products that are dispatched meanwhile, those of a backward pass on the CPU among them."""
    products = Counter[str]()
    with _Watch(products):
        yield products
