"""What eager and compiled PyTorch have in common: one way to set it up, and the timed calls.

The part on CUDA is written against the documentation and unverified (see `suite.backends.cuda`).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from suite.backends import cuda, kernels
from suite.backends.dtypes import STORED, precision_of
from suite.backends.protocol import Arrays, Options, Resident, Step
from suite.zoo.honesty import Computed

_PRODUCTS = re.compile(
    r"(_?convolution|mkldnn_convolution|mkldnn_linear|_linear_pointwise|addmm|mm|bmm|baddbmm|linear|_scaled_dot_product.*)"
)
"""Operators that multiply matrices or convolve, as they are dispatched below autograd."""

_OWN_KERNELS = "torch's own kernels: neither MKL nor oneDNN prints a product"


def configure(torch: Any, options: Options, backend: str = "torch") -> None:  # noqa: ANN401 (a framework's module has no type here)
    """Fix the threads, and let fp32 be fp32, or TF32 where that is asked for.

    On CUDA cuDNN tries its algorithms for each convolution in the first call and keeps the fastest, as PyTorch's tuning
    guide advises where shapes stay the same; XLA, TensorFlow, ONNX Runtime and TensorRT search too, by default
    (https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).

    One thread between operators: the models are chains. `ieee` forbids bf16 and TF32 inside fp32 products and
    convolutions (https://docs.pytorch.org/docs/stable/notes/mkldnn.html,
    https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices).

    Parameters
    ----------
    torch
        The module `torch`.
    options
        Threads, precision and device.
    backend
        Name of the backend, for messages.

    Raises
    ------
    Unsupported
        A GPU is asked for, and torch sees none.
    """
    torch.set_num_threads(options.threads)
    if torch.get_num_interop_threads() != 1:
        torch.set_num_interop_threads(1)
    if _has_precision_by_operator(torch):
        torch.backends.mkldnn.matmul.fp32_precision = "ieee"
        torch.backends.mkldnn.conv.fp32_precision = "ieee"
    else:
        torch.set_float32_matmul_precision("highest")
    if options.device == cuda.DEVICE:
        if not torch.cuda.is_available():
            raise cuda.sees_none(backend, f"torch {torch.__version__}, made for CUDA {torch.version.cuda or 'none'}")
        choose_tf32(torch, on=options.precision == "tf32")
        torch.backends.cudnn.benchmark = True


def choose_tf32(torch: Any, *, on: bool) -> None:  # noqa: ANN401 (the same)
    """Let products and convolutions of fp32 on CUDA be computed in TF32, or forbid it.

    From 2.9 on torch has two ways to say it, and refuses to be asked in one what was said in the other alone. Its own
    compiler asks in both (https://github.com/pytorch/pytorch/issues/166387: every product that inductor lowers asks
    `torch.get_float32_matmul_precision`), so both are said: first the old one, which keeps the whole of torch in step,
    then operator by operator.

    Parameters
    ----------
    torch
        The module `torch`.
    on
        Whether TF32 is allowed.
    """
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on
    if not _has_precision_by_operator(torch):
        return
    wanted = "tf32" if on else "ieee"
    torch.backends.cuda.matmul.fp32_precision = wanted
    torch.backends.cudnn.fp32_precision = wanted
    torch.backends.cudnn.conv.fp32_precision = wanted
    torch.backends.cudnn.rnn.fp32_precision = wanted


def _has_precision_by_operator(torch: Any) -> bool:  # noqa: ANN401 (the same)
    """Whether this torch is 2.9 or newer; older ones, which the `host` launcher may find, say the same otherwise."""
    return hasattr(torch.backends.mkldnn, "matmul")


def _precisions(torch: Any, device: str) -> tuple[str, str]:  # noqa: ANN401 (the same)
    """Read back how products and convolutions of fp32 are computed."""
    backends = torch.backends
    if not _has_precision_by_operator(torch):
        convolutions = ("TF32" if backends.cudnn.allow_tf32 else "ieee") if device != "cpu" else "its default"
        return str(torch.get_float32_matmul_precision()), convolutions
    if device == "cpu":
        return str(backends.mkldnn.matmul.fp32_precision), str(backends.mkldnn.conv.fp32_precision)
    return str(backends.cuda.matmul.fp32_precision), str(backends.cudnn.conv.fp32_precision)


def _reductions(torch: Any) -> str:  # noqa: ANN401 (the same)
    """Read back whether cuBLAS may add up parts of a product in the lower precision itself (torch's default)."""
    products = torch.backends.cuda.matmul
    narrow = products.allow_bf16_reduced_precision_reduction or products.allow_fp16_reduced_precision_reduction
    return "parts may be added in the lower precision (its default)" if narrow else "parts are added in fp32"


def in_precision(torch: Any, module: Any, options: Options) -> Any:  # noqa: ANN401 (the same)
    """Return a module that computes in the precision asked for, between float32 inputs and a float32 output.

    In bf16 and fp16 weights and activations are stored in that type, as `Module.to` makes them, and inputs are cast in
    the timed call. `torch.autocast`, which PyTorch's documentation names first, keeps the weights in float32 and casts
    them in every call (its cache holds only those that need gradients), which training wants and inference pays for:
    the setting `cast=autocast` asks for it.

    Parameters
    ----------
    torch
        The module `torch`.
    module
        The network, in float32.
    options
        Precision, device, and how it is cast.

    References
    ----------
    https://docs.pytorch.org/docs/stable/amp.html
    """
    if options.precision not in STORED:
        return module
    from suite.zoo.torch_module import Lowered

    autocast = options.device if options.settings.get("cast") == "autocast" else ""
    return Lowered(module, getattr(torch, STORED[options.precision]), autocast=autocast)


def casting(options: Options) -> dict[str, str]:
    """Say how a lower precision is come by, where it is not as the table of precisions has it."""
    if options.precision not in STORED or options.settings.get("cast") != "autocast":
        return {}
    return {"precision": f"weights in fp32, cast to {options.precision} in every call (torch.autocast)"}


def computed(
    torch: Any,  # noqa: ANN401 (the same)
    module: Any,  # noqa: ANN401 (the same)
    inputs: Sequence[npt.NDArray[Any]],
    options: Options,
    source: str,
) -> Computed:
    """Run a module once, uncompiled, and count the products it dispatches by the type of what they multiply.

    Parameters
    ----------
    torch
        The module `torch`.
    module
        The network.
    inputs
        Of one call, in the order of the model's inputs.
    options
        With which the backend was made.
    source
        Where the operators are read, in words.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    products: Counter[str] = Counter()

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        """Sees every operator below autograd."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
            del types
            if _PRODUCTS.fullmatch(func.overloadpacket.__name__):
                found = [each.dtype for each in args if isinstance(each, torch.Tensor) and each.dim() > 1]
                products[precision_of(str(found[-1])) if found else "unknown"] += 1
            return func(*args, **(kwargs or {}))

    arrays = [torch.from_numpy(array).to(options.device) for array in inputs]
    with torch.no_grad(), Watch():
        module(*arrays)
    if options.precision == "tf32" and "tf32" in _precisions(torch, options.device):
        products["tf32"] = products.pop("fp32", 0)
    return Computed(dict(products), source)


def with_kernels(
    torch: Any,  # noqa: ANN401 (the same)
    found: Computed,
    module: Callable[..., Any],
    inputs: Sequence[npt.NDArray[Any]],
    device: str,
) -> Computed:
    """Add whose kernels compute: of the products of one call, as MKL and oneDNN print them.

    A product that neither prints is computed by torch's own kernels; those are not counted.

    Parameters
    ----------
    torch
        The module `torch`.
    found
        What is known of the products' types.
    module
        The network, as it is timed.
    inputs
        Of one call, in the order of the model's inputs.
    device
        `cpu` or `cuda`.
    """
    if device != "cpu":
        return msgspec.structs.replace(found, kernels_source="nothing: cuBLAS and cuDNN are not asked")
    arrays = [torch.from_numpy(array) for array in inputs]

    def call() -> None:
        with (
            torch.inference_mode(),
            torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON),
            torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON),
        ):
            module(*arrays)

    counted = kernels.count_verbose(kernels.output_of(call))
    return msgspec.structs.replace(
        found, kernels=counted, kernels_source="what MKL and oneDNN print of one call" if counted else _OWN_KERNELS
    )


def channels_last(torch: Any, module: Any, device: str = "cpu") -> Any:  # noqa: ANN401 (the same)
    """Put 4-dimensional weights in channels-last order, which oneDNN's and cuDNN's convolutions like best.

    Parameters
    ----------
    torch
        The module `torch`.
    module
        The network.
    device
        Where its weights go.
    """
    return module.to(device=device, memory_format=torch.channels_last)


def make_step(torch: Any, module: Any, names: tuple[str, ...], device: str = "cpu") -> Step:  # noqa: ANN401 (the same)
    """Return the timed call: on the CPU arrays are wrapped without a copy, and so is the result.

    On a GPU inputs are copied there and the output back, from ordinary (pageable) memory, as a caller with NumPy arrays
    has it; the copy back waits for the result.

    Parameters
    ----------
    torch
        The module `torch`.
    module
        The network, as it is timed.
    names
        Of the model's inputs, in order.
    device
        `cpu` or `cuda`.
    """
    from_numpy, inference_mode = torch.from_numpy, torch.inference_mode
    if device != "cpu":

        def step_there(inputs: Arrays) -> npt.NDArray[np.float32]:
            with inference_mode():
                return module(*[from_numpy(inputs[name]).to(device) for name in names]).cpu().numpy()  # type: ignore[no-any-return]

        return step_there

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


def make_resident(torch: Any, module: Any, names: tuple[str, ...], device: str) -> Resident:  # noqa: ANN401 (the same)
    """Return the timed call between tensors on the device; it waits for the device before it returns.

    Parameters
    ----------
    torch, module, names, device
        As in `make_step`.
    """
    from_numpy, inference_mode = torch.from_numpy, torch.inference_mode
    wait = torch.cuda.synchronize if device != "cpu" else _nothing

    def place(inputs: Arrays) -> list[Any]:
        placed = [from_numpy(inputs[name]).to(device, copy=True) for name in names]
        wait()
        return placed

    def run(placed: list[Any]) -> Any:  # noqa: ANN401 (a tensor)
        with inference_mode():
            output = module(*placed)
        wait()
        return output

    def fetch(output: Any) -> npt.NDArray[np.float32]:  # noqa: ANN401 (the same)
        return output.cpu().numpy()  # type: ignore[no-any-return]

    return Resident(place=place, run=run, fetch=fetch)


def _nothing() -> None:
    """On the CPU torch is done when it returns."""


def device_memory(torch: Any, device: str) -> dict[str, int]:  # noqa: ANN401 (the same)
    """Return what torch's caching allocator counted (https://docs.pytorch.org/docs/stable/notes/cuda.html).

    Parameters
    ----------
    torch
        The module `torch`.
    device
        `cpu` or `cuda`.
    """
    if device == "cpu":
        return {}
    return {
        "peak allocated": int(torch.cuda.max_memory_allocated()),
        "peak reserved": int(torch.cuda.max_memory_reserved()),
    }


def settings(torch: Any, device: str = "cpu") -> dict[str, str]:  # noqa: ANN401 (the same)
    """Read back what can tilt the field.

    Parameters
    ----------
    torch
        The module `torch`.
    device
        `cpu` or `cuda`.
    """
    tiny = torch.full((1,), 1e-40) * 0.5
    products, convolutions = _precisions(torch, device)
    found = {
        "threads": str(torch.get_num_threads()),
        "threads between operators": str(torch.get_num_interop_threads()),
        "fp32 matrix products": products,
        "fp32 convolutions": convolutions,
        "oneDNN": "on" if torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled else "off",
        "denormals": "kept" if float(tiny) > 0 else "flushed to zero",
        "image layout": "channels last",
        "gradients": "inference mode",
        "output": "a new array every call",
    }
    if device == "cpu":
        return found
    return found | {
        "device": "cuda",
        "CUDA it was made for": str(torch.version.cuda),
        "cuDNN": str(torch.backends.cudnn.version()),
        "cuDNN searches for algorithms": "on" if torch.backends.cudnn.benchmark else "off",
        "bf16 and fp16 products": _reductions(torch),
        "GPU memory": "as needed (caching allocator)",
        "host memory": "pageable",
    }
