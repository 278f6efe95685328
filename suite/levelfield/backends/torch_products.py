"""Counting the matrix products and convolutions that PyTorch dispatches, by the type of what they multiply."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from levelfield.backends.precisions import precision_of

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
        """Say that dynamo need not be told to leave this mode alone: to be told, it would be imported, which takes 4 s.

        Older versions of torch do not ask.
        """
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
