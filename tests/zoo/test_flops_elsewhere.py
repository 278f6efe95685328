"""The same networks counted by torch, from what it runs."""

import pytest

from levelfield.zoo import flops, inputs, models, weights

torch = pytest.importorskip("torch", reason="torch is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

BATCH = 2


@pytest.mark.parametrize("name", models.names())
def test_torch_counts_the_same(name: str) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from levelfield.zoo import torch_module

    model = models.get(name)
    module = torch_module.load(model, weights.make(model))
    batch = inputs.make(model, 0, BATCH)
    # It counts the plain way of attention, and not what the CPU's fused one does.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*(torch.from_numpy(batch[tensor.name]) for tensor in model.inputs))
    assert counter.get_total_flops() == 2 * flops.count(model, BATCH).macs
