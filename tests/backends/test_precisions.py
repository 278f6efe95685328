"""One table of who computes in what, where, and why not."""

import pytest

from levelfield.backends import cuda, precisions, registry
from levelfield.backends.info import PRECISIONS
from levelfield.zoo import onnx_export, parity

DEVICES = ("cpu", cuda.DEVICE)
EVERYBODY = (*registry.names(), *registry.names_on_gpus_only(), registry.CANARY)


def test_every_backend_computes_in_fp32_where_it_runs() -> None:
    for name in EVERYBODY:
        info = registry.get(name)
        assert {device for device in DEVICES if precisions.supported(name, device)} == set(info.devices)
        for device in info.devices:
            assert "fp32" in precisions.supported(name, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_not_there_has_a_reason(name: str, precision: str, device: str) -> None:
    if device not in registry.get(name).devices:
        return
    reason = precisions.why_not(name, precision, device)
    assert bool(reason) == (precision not in precisions.supported(name, device))
    if reason:
        assert reason.startswith(f"{name} runs fp32")
        assert reason.endswith(".")
        with pytest.raises(ValueError, match=f"not {precision}"):
            precisions.way(name, precision, device)
    else:
        assert precisions.way(name, precision, device).how


@pytest.mark.parametrize("name", EVERYBODY)
def test_what_is_not_trained_in_has_a_reason(name: str) -> None:
    info = registry.get(name)
    for device in DEVICES:
        able = precisions.supported(name, device, training=True)
        assert bool(able) == (info.trains and device in info.devices)
        assert able[:1] in {(), ("fp32",)}
        for precision in PRECISIONS:
            reason = precisions.why_not(name, precision, device, training=True)
            assert bool(reason) == (bool(able) and precision not in able)
            if precision in able:
                assert precisions.way(name, precision, device, training=True).how
            else:
                assert not reason or reason.startswith(f"{name} trains in fp32")
                with pytest.raises(ValueError, match=f"not in {precision}|does not train"):
                    precisions.way(name, precision, device, training=True)


def test_bf16_trains_on_cpus_and_fp16_on_gpus_alone() -> None:
    for name in ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"):
        assert precisions.supported(name, training=True) == ("fp32", "bf16")
        assert precisions.supported(name, "cuda", training=True) == ("fp32", "bf16", "fp16")
        assert "loss scale" in precisions.way(name, "fp16", "cuda", training=True).how


def test_every_precision_has_a_tolerance_and_every_file_an_exporter() -> None:
    assert set(PRECISIONS) == set(parity.TOLERANCES)
    files = {way.file for name in EVERYBODY for ways in registry.get(name).ways.values() for way in ways.values()}
    assert files == set(onnx_export.PRECISIONS)


def test_tolerances_grow_as_precisions_shrink() -> None:
    sizes = [parity.TOLERANCES[name] for name in ("fp32", "tf32", "bf16", "int8")]
    assert sizes == sorted(sizes)


def test_tf32_and_fp16_are_for_gpus() -> None:
    for precision in ("tf32", "fp16"):
        assert not any(precision in precisions.supported(name) for name in EVERYBODY)
        assert precision in precisions.supported("torch", cuda.DEVICE)
