"""One table of who computes in what, where, and why not."""

import pytest

from levelfield.backends import cuda, precisions, registry
from levelfield.backends.info import PRECISIONS
from levelfield.zoo import onnx_export, parity

DEVICES = ("cpu", cuda.DEVICE)
EVERYBODY = (*registry.names(), *registry.names_on_gpus_only(), registry.CANARY)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_not_there_has_a_reason(name: str, precision: str, device: str) -> None:
    if device not in registry.get(name).devices:
        return
    reason = precisions.why_not(name, precision, device)
    assert bool(reason) == (precision not in precisions.supported(name, device))
    if precision in set(precisions.supported(name, device, own=True)) - {*precisions.supported(name, device)}:
        assert not precisions.why_not(name, precision, device, own=True)
        assert precisions.way(name, precision, device).own
    elif reason:
        assert reason.startswith(f"{name} runs fp32")
        assert reason.endswith(".")
        with pytest.raises(ValueError, match=f"not {precision}"):
            precisions.way(name, precision, device)
    else:
        assert precisions.way(name, precision, device).how


def test_every_precision_has_a_tolerance_and_every_file_an_exporter() -> None:
    assert set(PRECISIONS) == set(parity.TOLERANCES)
    files = {way.file for name in EVERYBODY for ways in registry.get(name).ways.values() for way in ways.values()}
    assert files == set(onnx_export.PRECISIONS)
