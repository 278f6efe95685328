"""PyTorch, eager."""

from typing import Any

from suite.backends import torch_common
from suite.backends.checks import import_framework, require_supported
from suite.backends.protocol import Options, Source, Step
from suite.zoo import models


class Torch:
    """Eager PyTorch in inference mode, channels last."""

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("torch", options)
        self._torch: Any = import_framework("torch", "torch")
        torch_common.configure(self._torch, options)
        self.version = str(self._torch.__version__)

    def load(self, source: Source) -> Step:
        """Fill the model's own module with the weights."""
        from suite.zoo import torch_module

        model = models.get(source.model)
        module = torch_common.channels_last(self._torch, torch_module.load(model, source.weights))
        return torch_common.make_step(self._torch, module, tuple(tensor.name for tensor in model.inputs))

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {"mode": "eager", **torch_common.settings(self._torch)}
