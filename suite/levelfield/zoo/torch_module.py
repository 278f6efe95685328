"""A model's PyTorch module with its weights, as the torch backends and the exporter use it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from levelfield.zoo.native import definition
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays


def load(model: Model, weights: Arrays) -> torch.nn.Module:
    """Build a model's module in evaluation mode, with copies of the weights in memory of torch's own.

    Raises RuntimeError: if the weights are not those of the model (torch says which).
    """
    with torch.device("meta"), _Uninitialized():
        module = definition(model, "torch").build(model)
    state = {name: torch.tensor(array) for name, array in weights.items()}
    for name in module.state_dict():
        if name.endswith(".num_batches_tracked"):  # BatchNorm's counter, which only training uses
            state[name] = torch.tensor(0)
    module.load_state_dict(state, strict=True, assign=True)
    return module.eval().requires_grad_(requires_grad=False)


def for_loss(logits: torch.Tensor) -> torch.Tensor:
    """Return logits as a loss takes them: in float32, whatever the precision.

    `logits`: any shape. Those in float64, in which gradients are held against the reference's, stay as they are.
    """
    return logits if logits.dtype == torch.float64 else logits.float()


class Lowered(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """A network in a lower precision, between inputs and an output in float32."""

    def __init__(self, network: torch.nn.Module, dtype: torch.dtype, *, autocast: str = "") -> None:
        """Wrap a network."""
        super().__init__()
        self.network = network if autocast else network.to(dtype)
        self.dtype = dtype
        self.autocast = autocast

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Compute the output, in float32."""
        if self.autocast:
            with torch.autocast(self.autocast, dtype=self.dtype):
                return self.network(*inputs).float()
        return self.network(*(each.to(self.dtype) if each.is_floating_point() else each for each in inputs)).float()


class _Uninitialized(TorchFunctionMode):  # type: ignore[misc]
    """Skip `torch.nn.init`: initial values are replaced at once.

    Its `normal_` would moreover import torch's compiler, since that is how it is written for the device `meta`: 1.3 s
    of an eager launch.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401  (whatever the function returns)
        del types
        if getattr(func, "__module__", "") == "torch.nn.init":
            return (kwargs or {}).get("tensor", args[0] if args else None)
        return func(*args, **(kwargs or {}))
