"""PyTorch, eager."""

from typing import Any

from suite.backends import torch_common
from suite.backends.checks import import_framework, require_supported
from suite.backends.protocol import Arrays, Options, Resident, Source, Step, Trainer, TrainingSource
from suite.zoo import models
from suite.zoo.honesty import Computed


class Torch:
    """Eager PyTorch in inference mode, channels last; on CUDA unverified (see `suite.backends.cuda`).

    It prepares nothing, since that is eager mode as people use it. Two settings do: `frozen=on` and `linear=onednn`
    (see `suite.backends.torch_prepared`).
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("torch", options)
        self._torch: Any = import_framework("torch", "torch")
        self._options = options
        self._device = options.device
        self._loaded: Any = None
        self._names: tuple[str, ...] = ()
        torch_common.configure(self._torch, options, "torch")
        self.version = str(self._torch.__version__)

    def load(self, source: Source) -> Step:
        """Fill the model's own module with the weights."""
        return torch_common.make_step(self._torch, *self._module(source), self._device)

    def load_resident(self, source: Source) -> Resident:
        """Fill the model's own module with the weights, for tensors that stay on the device."""
        return torch_common.make_resident(self._torch, *self._module(source), self._device)

    def load_training(self, source: TrainingSource) -> Trainer:
        """Build the network with its loss and torch's own optimizer."""
        from suite.backends.torch_training import TorchTrainer

        return TorchTrainer(source, self._device, compiled=False)

    def _module(self, source: Source) -> tuple[Any, tuple[str, ...]]:
        from suite.backends import torch_prepared
        from suite.zoo import torch_module

        self._loaded = None  # the model before this one goes first
        model = models.get(source.model)
        module = torch_common.in_precision(self._torch, torch_module.load(model, source.weights), self._options)
        self._names = tuple(tensor.name for tensor in model.inputs)
        module = torch_common.channels_last(self._torch, module, self._device)
        self._loaded = torch_prepared.prepare(module, [source.example[name] for name in self._names], self._options)
        return self._loaded, self._names

    def computed(self, inputs: Arrays) -> Computed:
        arrays = [inputs[name] for name in self._names]
        source = "the operators that one call dispatches"
        found = torch_common.computed(self._torch, self._loaded, arrays, self._options, source)
        return torch_common.with_kernels(self._torch, found, self._loaded, arrays, self._device)

    def device_memory(self) -> dict[str, int]:
        return torch_common.device_memory(self._torch, self._device)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        found = torch_common.settings(self._torch, self._device)
        chosen = self._options.settings
        return {
            "mode": "eager" if chosen.get("frozen") != "on" else "traced and frozen (torch.jit)",
            **found,
            **({"linear layers": "oneDNN, weights packed"} if chosen.get("linear") == "onednn" else {}),
            **torch_common.casting(self._options),
        }
