import importlib.util

import pytest

from levelfield.backends import registry
from levelfield.backends.protocol import Options, Unsupported
from tests.commands import python

ALL = (*registry.names(), *registry.names_where_named(), "canary")


def test_an_unknown_name_lists_the_close_ones() -> None:
    with pytest.raises(ValueError, match=r"no backend 'pytorch'.*Did you mean torch"):
        registry.get("pytorch")
    with pytest.raises(ValueError, match="There are torch, torch-compile"):
        registry.get("?")


def test_no_framework_is_imported_before_it_is_asked_for() -> None:
    frameworks = ("torch", "tensorflow", "jax", "onnxruntime", "openvino", "onnx", "scipy", "keras", "transformers")
    modules = [registry.get(name).module for name in ALL]
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "import levelfield.zoo.native, levelfield.zoo.reference, levelfield.zoo.onnx_export\n"
        f"print([name for name in {frameworks!r} if name in sys.modules])"
    )
    assert python(code).strip() == "[]"


@pytest.mark.parametrize("name", ALL)
def test_what_it_cannot_do_is_refused_before_anything_is_imported(name: str) -> None:
    with pytest.raises(Unsupported, match=f"{name} runs fp32.* here, not fp4"):
        registry.create(name, Options(threads=1, precision="fp4"))
    with pytest.raises(Unsupported, match="not on tpu"):
        registry.create(name, Options(threads=1, device="tpu"))
    with pytest.raises(Unsupported, match="at least one thread"):
        registry.create(name, Options(threads=0))
    with pytest.raises(Unsupported, match="has no setting turbo=on to choose"):
        registry.create(name, Options(threads=1, settings={"turbo": "on"}))


@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax", "onnxruntime", "openvino"])
def test_a_missing_framework_says_what_would_help(name: str) -> None:
    if importlib.util.find_spec(name) is not None:
        pytest.skip(f"{name} is installed here")
    with pytest.raises(Unsupported, match=f"needs the module {name}, which is not installed here"):
        registry.create(name, Options(threads=1))
