"""Single operators in PyTorch, by `torch.nn.functional`."""

import torch
from torch import nn
from torch.nn import functional

from levelfield.zoo.operators import EPSILON
from levelfield.zoo.spec import Model, Operator


class OneOperator(nn.Module):  # type: ignore[misc,unused-ignore]
    """One call."""

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        self.operator = operator
        for parameter in operator.parameters:
            holder: nn.Module = self
            *path, name = parameter.name.split(".")
            for part in path:
                holder.add_module(part, nn.Module())
                holder = holder.get_submodule(part)
            holder.register_parameter(name, nn.Parameter(torch.empty(parameter.shape)))

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        """Compute the output from the operator's inputs."""
        operator = self.operator
        match operator.kind:
            case "gemm":
                return functional.linear(given[0], self.weight)
            case "conv":
                return functional.conv2d(given[0], self.weight, stride=operator.stride, padding=operator.padding)
            case "softmax":
                return functional.softmax(given[0], dim=-1)
            case "layernorm":
                return functional.layer_norm(given[0], self.weight.shape, self.weight, self.bias, EPSILON)
            case "embedding":
                return functional.embedding(given[0], self.embeddings.weight)
            case "gather":
                return torch.stack([x.index_select(0, rows) for x, rows in zip(*given, strict=True)])
            case "scatter":
                zeros = given[0].new_zeros(operator.rows, given[0].shape[-1])
                return torch.stack([_scattered(zeros, rows.long(), x) for x, rows in zip(*given, strict=True)])
            case _:
                batch, tokens, width = given[0].shape
                split = (batch, tokens, operator.heads, width // operator.heads)
                context = functional.scaled_dot_product_attention(*(x.view(split).transpose(1, 2) for x in given))
                return context.transpose(1, 2).reshape(batch, tokens, width)


def _scattered(zeros: torch.Tensor, rows: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """Return `zeros` with rows added.

    An exported `index_add` is a ScatterND that adds. Two threads of ONNX Runtime's kernel on CPUs write one row at once
    and lose a part of it, in some calls only: https://github.com/microsoft/onnxruntime/issues/18048, and so up to 1.32.
    An exported `scatter_add` is a ScatterElements, whose kernel adds in order.
    """
    if torch.compiler.is_exporting():
        return zeros.scatter_add(0, rows[:, None].expand_as(given), given)
    return zeros.index_add(0, rows, given)


def build(model: Model) -> nn.Module:
    """Return the operator, its weights not yet filled in."""
    assert model.operator is not None
    return OneOperator(model.operator)
