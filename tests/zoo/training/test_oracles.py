"""torch's own gradients, in float64 and with our weights, are those written by hand; so are its optimizers."""

import numpy as np
import pytest

from levelfield.zoo import models, weights
from levelfield.zoo.native import definition
from levelfield.zoo.training import batches
from levelfield.zoo.training.trajectory import loss_and_gradients
from tests.backends.update_rules import RULES, right_only

torch = pytest.importorskip("torch", reason="torch is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

FLOAT64_ROUNDING = 1e-10
"""Of gradients through fifty layers; a mistake would be larger by orders."""


@pytest.mark.parametrize(("name", "batch"), [("mlp", 32), ("resnet50", 2), ("bert", 2)])
def test_gradients_and_statistics_are_those_of_autograd(name: str, batch: int) -> None:
    from levelfield.zoo import torch_module

    model = models.get(name)
    made, items = weights.make(model), batches.make(model, 0, batch)
    defined = definition(model, "torch")
    network = defined.prepare(torch_module.load(model, made)).double().train().requires_grad_()
    tensors = [torch.from_numpy(items[each]) for each in batches.names(model)]
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)  # attention's mask is made in the default type
        oracle = defined.loss(network, *[each.double() if each.is_floating_point() else each for each in tensors])
        oracle.backward()
    finally:
        torch.set_default_dtype(default)

    loss, gradients, statistics = loss_and_gradients(model, made, items)
    assert loss == pytest.approx(oracle.item(), rel=1e-12)
    found = {key: tensor.grad.numpy() for key, tensor in network.named_parameters()}
    assert found.keys() == gradients.keys()
    whole = np.sqrt(sum(float((array**2).sum()) for array in gradients.values()))
    for key, gradient in gradients.items():
        apart = float(np.linalg.norm(found[key] - gradient))
        assert apart <= FLOAT64_ROUNDING * (float(np.linalg.norm(gradient)) + 1e-6 * whole), key
    state = network.state_dict()
    assert statistics.keys() == {parameter.name for parameter in model.statistics}
    for key, value in statistics.items():
        assert state[key].numpy() == pytest.approx(value, rel=1e-9), key


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.extended) if name in {"bert", "resnet50"} else name for name in RULES]
)
def test_torch_optimizers_follow_the_recipe_and_no_mistake_does(name: str) -> None:
    right_only("torch", name)
