"""Training in PyTorch, eager and compiled: as its tuning guide has it.

Gradients are set to None, not to zero; the optimizers are the fused ones, which update all tensors in one kernel. In
the compiled form the network and its loss are one graph, forward and backward; the optimizer is fused already.

See https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
https://docs.pytorch.org/docs/stable/optim.html
"""

import datetime as dt
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from levelfield.backends.parallel import Replica
from levelfield.backends.precisions import LOSS_SCALES, STORED
from levelfield.backends.protocol import Arrays, TrainingSource
from levelfield.backends.torch_networks import watching
from levelfield.record.measured import Computed
from levelfield.zoo import models, torch_module
from levelfield.zoo.native import definition
from levelfield.zoo.spec import Model
from levelfield.zoo.training import batches
from levelfield.zoo.training.recipe import SGD, Optimizer
from levelfield.zoo.training.update import Amplification

_NEVER = 2**31 - 1
"""Steps after which a loss's scale grows."""
TIMEOUT = dt.timedelta(minutes=10)
"""The supervisor's own limits are shorter, or about as long."""


class TorchTrainer:
    """A network in training mode, and its optimizer."""

    def __init__(self, source: TrainingSource, device: str, *, compiled: bool) -> None:
        model = models.get(source.model)
        defined = definition(model, "torch")
        network = torch_module.load(model, source.weights).to(device=device, memory_format=torch.channels_last)
        self._network = defined.prepare(network).train().requires_grad_()
        self._model, self._optimizer_rule = model, source.optimizer
        self._begin = source.weights
        self._names = batches.names(model)
        self._device = device
        self._precision = source.precision
        dtype = getattr(torch, STORED[source.precision]) if source.precision in STORED else None
        self._scaler = _scaler(source.precision, device)
        loss = self._with_loss = _WithLoss(self._network, defined.loss, device, dtype)
        self._together = source.replica is not None
        if source.replica is not None:
            loss = _replicated(loss, source.replica, device)
        self._eager_loss = loss
        self._loss = torch.compile(loss, dynamic=False) if compiled else loss
        self._optimizer = _optimizer(model, self._network, source.optimizer)
        if compiled:
            self.step(source.example)
            self.restart()

    def step(self, batch: Arrays) -> float:
        return self._step(self._loss, [batch[name] for name in self._names])

    def _step(self, loss_of: Callable[..., Any], arrays: list[npt.NDArray[Any]]) -> float:
        self._optimizer.zero_grad(set_to_none=True)
        loss = loss_of(*[torch.from_numpy(array).to(self._device) for array in arrays])
        if self._scaler is None:
            loss.backward()
            self._optimizer.step()
            return float(loss.item())
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return float(loss.item())

    def step_with_gradients(self, gradients: Iterable[Arrays], by: Amplification) -> None:
        """Take steps with another loss in the place of the model's, and amplify what the optimizer itself holds.

        Compiled training takes them too without its compiler, which has no part in the optimizer.
        """
        groups, loss = self._optimizer.param_groups, self._with_loss.loss
        plain = [(group["lr"], group["weight_decay"]) for group in groups]
        self._with_loss.loss = _linear_loss
        try:
            for group in groups:
                group["lr"] *= by.learning_rate
                group["weight_decay"] *= by.weight_decay
            for each in gradients:
                self._step(self._eager_loss, [each[name] for name, _ in self._network.named_parameters()])
        finally:
            self._with_loss.loss = loss
            for group, (rate, decay) in zip(groups, plain, strict=True):
                group["lr"], group["weight_decay"] = rate, decay

    def computed(self, batch: Arrays) -> Computed:
        """Run a step's forward and backward pass once, uncompiled, and count the products that it dispatches."""
        tensors = [torch.from_numpy(batch[name]).to(self._device) for name in self._names]
        with watching() as products:
            self._with_loss(*tensors).backward()
        self._optimizer.zero_grad(set_to_none=True)
        return Computed(dict(products), "the operators that one step dispatches")

    def gradients(self) -> Arrays:
        """Return them as the optimizer leaves them: where the loss is scaled, it has divided them in place."""
        return {name: _array(tensor.grad) for name, tensor in self._network.named_parameters()}

    def weights(self) -> Arrays:
        state = self._network.state_dict()
        return {parameter.name: _array(state[parameter.name]) for parameter in self._model.parameters}

    def restart(self, weights: Arrays | None = None) -> None:
        self._begin = self._begin if weights is None else weights
        state = self._network.state_dict()
        with torch.no_grad():
            for name, array in self._begin.items():
                state[name].copy_(torch.from_numpy(array))
        self._optimizer.zero_grad(set_to_none=True)
        self._optimizer = _optimizer(self._model, self._network, self._optimizer_rule)

    def predict(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        """Ask the network itself, even where training is compiled: what is not timed need not be compiled again."""
        self._network.eval()
        try:
            with torch.no_grad():
                tensors = [torch.from_numpy(inputs[each.name]).to(self._device) for each in self._model.inputs]
                return _array(self._network(*tensors))
        finally:
            self._network.train()

    def settings(self) -> dict[str, str]:
        rule = self._optimizer.defaults
        return (
            {
                "gradients": "recorded",
                "optimizer": f"torch.optim.{type(self._optimizer).__name__}, "
                + ("fused" if rule.get("fused") else "foreach" if rule.get("foreach") else "as torch chooses"),
                "output": "the loss, a Python float",
            }
            | ({"loss scale": f"{self._scaler.get_scale():g}"} if self._scaler is not None else {})
            | (_engine_settings() if self._together else {})
        )


class _WithLoss(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """A network with its loss, so that both are compiled as one; `torch.autocast` around them in lower precisions."""

    def __init__(self, network: Any, loss: Any, device: str, dtype: Any) -> None:  # noqa: ANN401 (torch has no types here)
        super().__init__()
        self.network = network
        self.loss = loss
        self.device, self.dtype = device, dtype

    def forward(self, *batch: Any) -> Any:  # noqa: ANN401 (the same)
        if self.dtype is None:
            return self.loss(self.network, *batch)
        with torch.autocast(self.device, dtype=self.dtype):
            return self.loss(self.network, *batch)


def _scaler(precision: str, device: str) -> Any:  # noqa: ANN401 (the same)
    """Return what scales the loss by a constant; None where nothing does."""
    if precision not in LOSS_SCALES:
        return None
    return torch.amp.GradScaler(device, init_scale=LOSS_SCALES[precision], growth_interval=_NEVER)


def _linear_loss(network: Any, *given: Any) -> Any:  # noqa: ANN401 (the same)
    """Return Σ⟨given, weight⟩, whose gradients are what is given."""
    return sum((weight * each).sum() for weight, each in zip(network.parameters(), given, strict=True))


def _optimizer(model: Model, network: Any, rule: Optimizer) -> Any:  # noqa: ANN401 (the same)
    """Make torch's optimizer with every hyper-parameter given, decay in a group of its own.

    `torch.optim.Adam` has a `weight_decay` too, which is the coupled one: another algorithm. SGD's default dampening
    and momentum buffer are as the recipe has them; they are given all the same.
    """
    parameters = dict(network.named_parameters())
    groups = [
        {
            "params": [parameters[each.name] for each in model.trained if each.decays == decaying],
            "weight_decay": rule.weight_decay if decaying else 0.0,
        }
        for decaying in (True, False)
    ]
    common = {"lr": rule.learning_rate, "maximize": False, "fused": True}
    if isinstance(rule, SGD):
        return torch.optim.SGD(groups, momentum=rule.momentum, dampening=0.0, nesterov=False, **common)
    return torch.optim.AdamW(groups, betas=(rule.beta1, rule.beta2), eps=rule.epsilon, amsgrad=False, **common)


def _array(tensor: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 (the same)
    return np.ascontiguousarray(tensor.detach().cpu().numpy()).copy()


def _replicated(module: Any, replica: Replica, device: str) -> Any:  # noqa: ANN401 (torch has no types here)
    """Connect to the other processes once, over gloo (NCCL on GPUs, unverified); gradients become the mean of all.

    See https://docs.pytorch.org/docs/stable/notes/ddp.html
    """
    if not dist.is_initialized():
        # gloo would look this host's name up, which a container without a network cannot.
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        dist.init_process_group(
            "gloo" if device == "cpu" else "nccl",
            init_method=f"tcp://{replica.authorities[0]}",
            rank=replica.rank,
            world_size=replica.processes,
            timeout=TIMEOUT,
        )
    return torch.nn.parallel.DistributedDataParallel(module)


def _engine_settings() -> dict[str, str]:
    return {"engine": f"DistributedDataParallel over {dist.get_backend()}", "processes": str(dist.get_world_size())}
