"""Gradients of whole networks, against finite differences; against torch's autograd see `test_oracles`."""

import math

import pytest

from levelfield.zoo import models, weights
from levelfield.zoo.training import batches
from levelfield.zoo.training.trajectory import loss_and_gradients
from tests.zoo.slopes import doubled, slope_along


@pytest.mark.extended
@pytest.mark.parametrize(("name", "batch", "step"), [("resnet50", 2, 2e-10), ("bert", 1, 1e-4)])
def test_a_whole_networks_loss_rises_along_its_gradient_as_it_says(name: str, batch: int, step: float) -> None:
    """Along any other direction ReLUs that turn on or off would hide the slope of so large a network.

    ResNet-50's loss has a corner wherever one of its millions of ReLUs or maxima turns. How many lie within a step is
    in proportion to it, and which ones follows the last bits of the processor's sums: steps of 1e-7 missed by 0 to
    2e-4 in a way that no two machines share. At 2e-10 hardly one is crossed, and rounding (1e-15 of the loss) is still
    a millionth of the difference.
    """
    model = models.get(name)
    state, items = doubled(weights.make(model)), batches.make(model, 0, batch)
    _, gradients, _ = loss_and_gradients(model, state, items)
    assert gradients.keys() == {parameter.name for parameter in model.trained}
    for key, gradient in gradients.items():
        assert gradient.shape == state[key].shape, key
    length = math.sqrt(sum(float((array**2).sum()) for array in gradients.values()))
    upwards = {key: array / length for key, array in gradients.items()}
    assert slope_along(name, state, items, upwards, step) == pytest.approx(length, rel=1e-4)
