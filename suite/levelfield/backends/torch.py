"""PyTorch, eager. Its inference and training were run on an NVIDIA H200 (docs/gpu.md)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends import cuda, decoding, kernels
from levelfield.backends.checks import import_framework, outputs, require_decoding, require_supported
from levelfield.backends.decoding import Decoder, DecodingSource
from levelfield.backends.precisions import STORED, as_computed
from levelfield.backends.protocol import Arrays, Options, Resident, Source, Step, Trainer, TrainingSource, Unsupported
from levelfield.record.measured import Computed
from levelfield.zoo import models

_PREPARED = ("frozen", "linear")
"""Settings that have the network prepared (`backends.torch_networks`)."""
_OWN_KERNELS = "torch's own kernels: neither MKL nor oneDNN prints a product"


class Torch:
    """Eager PyTorch in inference mode, channels last.

    It prepares nothing, since that is eager mode as people use it. Two settings do: `frozen=on` and `linear=onednn`
    (see `backends.torch_networks`).
    """

    name = "torch"
    products_source = "the operators that one call dispatches"
    version: str

    def __init__(self, options: Options) -> None:
        require_supported(self.name, options)
        self._torch: Any = import_framework(self.name, "torch")
        self._options = options
        self._device = options.device
        self._module: Any = None
        """The network as it is defined, in its precision and on its device."""
        self._call: Any = None
        """The network as it is timed."""
        self._names: tuple[str, ...] = ()
        """Names of the model's inputs, in order."""
        self._configure()
        self.version = str(self._torch.__version__)

    def _configure(self) -> None:
        """Fix the threads, and let fp32 be fp32, or TF32 where that is asked for.

        On CUDA cuDNN tries its algorithms for each convolution in the first call and keeps the fastest (unless
        `search=off`), as PyTorch's tuning guide advises where shapes stay the same; XLA, TensorFlow, ONNX Runtime and
        TensorRT search too, by default (https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).

        One thread between operators: the models are chains. `ieee` forbids bf16 and TF32 inside fp32 products and
        convolutions (https://docs.pytorch.org/docs/stable/notes/mkldnn.html,
        https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices).
        """
        torch = self._torch
        torch.set_num_threads(self._options.threads)
        if torch.get_num_interop_threads() != 1:
            torch.set_num_interop_threads(1)
        if _has_precision_by_operator(torch):
            torch.backends.mkldnn.matmul.fp32_precision = "ieee"
            torch.backends.mkldnn.conv.fp32_precision = "ieee"
        else:
            torch.set_float32_matmul_precision("highest")
        if self._device == cuda.DEVICE:
            if not torch.cuda.is_available():
                why = f"torch {torch.__version__}, made for CUDA {torch.version.cuda or 'none'}"
                raise cuda.sees_none(self.name, why)
            choose_tf32(torch, on=self._options.precision == "tf32")
            torch.backends.cudnn.benchmark = self._options.settings.get("search", "on") == "on"

    def load(self, source: Source) -> Step:
        """Fill the model's own module with the weights, and return the timed call.

        On the CPU arrays are wrapped without a copy, and so is the result. On a GPU inputs are copied there and the
        output back, from ordinary (pageable) memory, as a caller with NumPy arrays has it; the copy back waits for the
        result.
        """
        self._load(source)
        module, names, device = self._call, self._names, self._device
        from_numpy, inference_mode = self._torch.from_numpy, self._torch.inference_mode
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

    def load_own(self, source: Source) -> Callable[[Arrays], Any]:
        """Take a module or a function as it is; a module is in evaluation mode."""
        torch = self._torch
        self._module = source.network.eval() if isinstance(source.network, torch.nn.Module) else source.network
        self._names = tuple(source.example)
        self._call = self._prepared(source)
        call, names, from_numpy, inference_mode = self._call, self._names, torch.from_numpy, torch.inference_mode

        def step(inputs: Arrays) -> Any:  # noqa: ANN401 (whatever the network returns)
            with inference_mode():
                given = [from_numpy(inputs[name]) for name in names]
                return outputs(call(*given), lambda tensor: tensor.detach().numpy())

        step(source.example)
        return step

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for tensors that stay on the device; a call waits for the device before it returns."""
        self._load(source)
        torch, module, names, device = self._torch, self._call, self._names, self._device
        wait, inference_mode = torch.cuda.synchronize if device != "cpu" else _nothing, torch.inference_mode

        def place(inputs: Arrays) -> list[Any]:
            placed = [torch.from_numpy(inputs[name]).to(device, copy=True) for name in names]
            wait()
            return placed

        def run(placed: list[Any]) -> Any:  # noqa: ANN401 (a tensor)
            with inference_mode():
                output = module(*placed)
            wait()
            return output

        return Resident(place=place, run=run, fetch=lambda output: output.cpu().numpy())

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Build the network and its caches on the device."""
        from levelfield.zoo import torch_module

        self._module = self._call = None  # frees the model that was loaded before
        model, caches = require_decoding(self.name, source, self._options)
        prepared = [f"{name}={self._options.settings[name]}" for name in _PREPARED if name in self._options.settings]
        if self._compiled is None and prepared:
            raise Unsupported(f"{self.name} prepares nothing that answers token by token: leave {prepared[0]} out.")
        network = torch_module.load(model, source.weights).to(self._device)
        compiled = partial(self._compiled, dynamic=source.growing) if self._compiled is not None else None
        return decoding.with_torch(self._torch, network, caches, source, compiled, self._device)

    _compiled: Callable[..., Any] | None = None
    """Compiles a function of tensors, whose sizes may change with `dynamic=True`; None: it is run eagerly."""

    def load_training(self, source: TrainingSource) -> Trainer:
        """Build the network with its loss and torch's own optimizer."""
        from levelfield.backends.torch_training import TorchTrainer

        return TorchTrainer(source, self._device, compiled=False)

    def _load(self, source: Source) -> None:
        from levelfield.zoo import torch_module

        self._module = self._call = None  # frees the model that was loaded before
        model = models.get(source.model)
        self._names = tuple(tensor.name for tensor in model.inputs)
        module: Any = self._in_precision(torch_module.load(model, source.weights))
        # Channels last is the order that oneDNN's and cuDNN's convolutions like best.
        self._module = module.to(device=self._device, memory_format=self._torch.channels_last)
        self._call = self._prepared(source)

    def _prepared(self, source: Source) -> Any:  # noqa: ANN401 (a module of torch's)
        from levelfield.backends import torch_networks

        example = [source.example[name] for name in self._names]
        self._module = torch_networks.prepare(self._module, example, self._options)
        return self._module

    @property
    def _autocast(self) -> bool:
        return self._options.precision in STORED and self._options.settings.get("cast") == "autocast"

    def _in_precision(self, module: Any) -> Any:  # noqa: ANN401 (a module of torch's)
        """Return a module that computes in the precision asked for, between float32 inputs and a float32 output.

        In bf16 and fp16 weights and activations are stored in that type, as `Module.to` makes them, and inputs are cast
        in the timed call. `torch.autocast`, which PyTorch's documentation names first, keeps the weights in float32 and
        casts them in every call (its cache holds only those that need gradients), which training wants and inference
        pays for: the setting `cast=autocast` asks for it (https://docs.pytorch.org/docs/stable/amp.html).
        """
        if self._options.precision not in STORED:
            return module
        from levelfield.zoo.torch_module import Lowered

        dtype = getattr(self._torch, STORED[self._options.precision])
        return Lowered(module, dtype, autocast=self._device if self._autocast else "")

    def computed(self, inputs: Arrays) -> Computed:
        """Say what the products multiply, and whose kernels compute them."""
        return self._with_kernels(self._dispatched(inputs), inputs)

    def _dispatched(self, inputs: Arrays) -> Computed:
        """Run the module once, uncompiled, and count the products it dispatches by the type of what they multiply."""
        from levelfield.backends.torch_networks import watching

        torch = self._torch
        tensors = [torch.from_numpy(inputs[name]).to(self._device) for name in self._names]
        with torch.no_grad(), watching() as products:
            self._module(*tensors)
        precision = self._options.precision
        if precision == "tf32" and "tf32" not in _precisions(torch, self._device):
            precision = "fp32"
        return Computed(as_computed(products, precision), self.products_source)

    def _with_kernels(self, found: Computed, inputs: Arrays) -> Computed:
        """Add whose kernels compute the products of one call, as MKL and oneDNN print them."""
        if self._device != "cpu":
            return msgspec.structs.replace(found, kernels_source="nothing: cuBLAS and cuDNN are not asked")
        torch = self._torch
        mkl, onednn = torch.backends.mkl, torch.backends.mkldnn

        def call() -> None:
            with torch.inference_mode(), mkl.verbose(mkl.VERBOSE_ON), onednn.verbose(onednn.VERBOSE_ON):
                # As in the timed call: a compiled module is compiled again for tensors from outside of inference mode.
                self._call(*[torch.from_numpy(inputs[name]) for name in self._names])

        counted = kernels.count_verbose(kernels.output_of(call))
        source = "what MKL and oneDNN print of one call" if counted else _OWN_KERNELS
        return msgspec.structs.replace(found, kernels=counted, kernels_source=source)

    def device_memory(self) -> dict[str, int]:
        """Return what torch's caching allocator counted (https://docs.pytorch.org/docs/stable/notes/cuda.html)."""
        if self._device == "cpu":
            return {}
        return {
            "peak allocated": int(self._torch.cuda.max_memory_allocated()),
            "peak reserved": int(self._torch.cuda.max_memory_reserved()),
        }

    def _mode(self) -> dict[str, str]:
        """Return the settings that say how the network is executed."""
        chosen = self._options.settings
        packed = {"linear layers": "oneDNN, weights packed"} if chosen.get("linear") == "onednn" else {}
        return {"mode": "eager" if chosen.get("frozen") != "on" else "traced and frozen (torch.jit)"} | packed

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        torch = self._torch
        tiny = torch.full((1,), 1e-40) * 0.5
        products, convolutions = _precisions(torch, self._device)
        onednn = torch.backends.mkldnn
        found = self._mode() | {
            "threads": str(torch.get_num_threads()),
            "threads between operators": str(torch.get_num_interop_threads()),
            "fp32 matrix products": products,
            "fp32 convolutions": convolutions,
            "oneDNN": "on" if onednn.is_available() and onednn.enabled else "off",
            "denormals": "kept" if float(tiny) > 0 else "flushed to zero",
            "image layout": "channels last",
            "gradients": "inference mode",
            "output": "a new array every call",
        }
        if self._device != "cpu":
            found |= {
                "device": "cuda",
                "CUDA it was made for": str(torch.version.cuda),
                "cuDNN": str(torch.backends.cudnn.version()),
                "cuDNN searches for algorithms": "on" if torch.backends.cudnn.benchmark else "off",
                "bf16 and fp16 products": _reductions(torch),
                "GPU memory": "as needed (caching allocator)",
                "host memory": "pageable",
            }
        if self._autocast:  # otherwise the precision is as the registry describes it
            found["precision"] = f"weights in fp32, cast to {self._options.precision} in every call (torch.autocast)"
        return found


def _nothing() -> None:
    """On the CPU torch is done when it returns."""


def choose_tf32(torch: Any, *, on: bool) -> None:  # noqa: ANN401 (the same)
    """Let products and convolutions of fp32 on CUDA be computed in TF32, or forbid it.

    From 2.9 on torch has two ways to say it, and refuses to be asked in one what was said in the other alone. Its own
    compiler asks in both (https://github.com/pytorch/pytorch/issues/166387: every product that inductor lowers asks
    `torch.get_float32_matmul_precision`), so both are set: first the old one, which keeps the whole of torch in step,
    then operator by operator.
    """
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on
    if not _has_precision_by_operator(torch):
        return
    cudnn = torch.backends.cudnn
    for part in (torch.backends.cuda.matmul, cudnn, cudnn.conv, cudnn.rnn):
        part.fp32_precision = "tf32" if on else "ieee"


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
