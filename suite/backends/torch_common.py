"""What eager and compiled PyTorch have in common: one way to set it up and one timed call."""

from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.protocol import Arrays, Options, Step


def configure(torch: Any, options: Options) -> None:  # noqa: ANN401 (a framework's module has no type here)
    """Fix the threads, and let fp32 be fp32.

    One thread between operators: the models are chains. `ieee` forbids bf16 and TF32 inside fp32 products and
    convolutions (https://docs.pytorch.org/docs/stable/notes/mkldnn.html).
    """
    torch.set_num_threads(options.threads)
    if torch.get_num_interop_threads() != 1:
        torch.set_num_interop_threads(1)
    torch.backends.mkldnn.matmul.fp32_precision = "ieee"
    torch.backends.mkldnn.conv.fp32_precision = "ieee"


def channels_last(torch: Any, module: Any) -> Any:  # noqa: ANN401 (the same)
    """Put 4-dimensional weights in channels-last order, which oneDNN's convolutions like best."""
    return module.to(memory_format=torch.channels_last)


def make_step(torch: Any, module: Any, names: tuple[str, ...]) -> Step:  # noqa: ANN401 (the same)
    """Return the timed call: arrays are wrapped without a copy, and so is the result."""
    from_numpy, inference_mode = torch.from_numpy, torch.inference_mode

    if len(names) == 1:
        (name,) = names

        def step_one(inputs: Arrays) -> npt.NDArray[np.float32]:
            with inference_mode():
                return module(from_numpy(inputs[name])).numpy()  # type: ignore[no-any-return]

        return step_one

    def step(inputs: Arrays) -> npt.NDArray[np.float32]:
        with inference_mode():
            return module(*[from_numpy(inputs[name]) for name in names]).numpy()  # type: ignore[no-any-return]

    return step


def settings(torch: Any) -> dict[str, str]:  # noqa: ANN401 (the same)
    """Read back what can tilt the field."""
    tiny = torch.full((1,), 1e-40) * 0.5
    return {
        "threads": str(torch.get_num_threads()),
        "threads between operators": str(torch.get_num_interop_threads()),
        "fp32 matrix products": str(torch.backends.mkldnn.matmul.fp32_precision),
        "fp32 convolutions": str(torch.backends.mkldnn.conv.fp32_precision),
        "oneDNN": "on" if torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled else "off",
        "denormals": "kept" if float(tiny) > 0 else "flushed to zero",
        "image layout": "channels last",
        "gradients": "inference mode",
        "output": "a new array every call",
    }
